//! Waiting for a word of memory to change, also across processes.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock;

/// Waits while the word has the value, at most so long; may return early.
pub fn wait(word: &AtomicU32, value: u32, nanoseconds: i64) {
    if word.load(Ordering::Acquire) != value {
        return;
    }
    let timeout = clock::timespec(nanoseconds);
    // SAFETY: the word outlives the call; the kernel only reads it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &timeout,
            ptr::null::<u32>(),
            0,
        );
    }
}

/// Wakes everybody who waits for the word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the kernel only uses the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
