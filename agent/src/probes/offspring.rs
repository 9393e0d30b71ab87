//! A forked child that lives no longer than what holds it, nor than the round.

use std::io;

/// Killed and waited for when dropped.
pub struct Offspring(libc::pid_t);

impl Offspring {
    /// Starts a child, which ends when `body` returns. Only system calls on what was prepared.
    pub fn start(body: impl FnOnce()) -> io::Result<Self> {
        // SAFETY: the child makes nothing but system calls and ends without unwinding.
        unsafe {
            let parent = libc::getpid();
            match libc::fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    // Whoever has lost its parent before that would never hear of it.
                    if libc::getppid() == parent {
                        body();
                    }
                    libc::_exit(0)
                }
                child => Ok(Self(child)),
            }
        }
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        // SAFETY: it has not been waited for, so that its id is nobody else's.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            while libc::waitpid(self.0, std::ptr::null_mut(), 0) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}
