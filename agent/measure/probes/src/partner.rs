//! Another process that a probe works with: it is gone before the probe is.

use std::io;
use std::panic::AssertUnwindSafe;

/// A forked process of one task, killed when dropped and when its parent dies.
pub struct Partner(libc::pid_t);

impl Partner {
    /// Starts it. A round's process has one thread, so that its child may do anything.
    pub fn start(work: impl FnOnce()) -> io::Result<Self> {
        // SAFETY: a plain call.
        let parent = unsafe { libc::getpid() };
        // SAFETY: fork of a process of one thread; the child never returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: plain calls of the child's own.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    // Whose parent died before that would never hear of it.
                    if libc::getppid() != parent {
                        libc::_exit(1);
                    }
                }
                let done = std::panic::catch_unwind(AssertUnwindSafe(work));
                // SAFETY: the parent's destructors are not ours to run.
                unsafe { libc::_exit(i32::from(done.is_err())) }
            }
            child => Ok(Self(child)),
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // SAFETY: it has not been waited for, so that its id is nobody else's.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}
