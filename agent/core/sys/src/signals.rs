//! Signals as a program expects them that nobody has started with others.

use std::ptr;

/// Gives signals their default effect, and lets all of them through.
///
/// Between fork and exec: system calls alone. What is left out keeps what was inherited: who runs
/// a command with `nohup` means the command.
pub fn as_by_default(signals: impl IntoIterator<Item = libc::c_int>) {
    // SAFETY: takes no memory of ours but the empty set.
    unsafe {
        for signal in signals {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}
