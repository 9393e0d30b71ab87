//! What a worker waits for while a process runs: children that end, output to drain, the front
//! going away, and time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock;

/// Ends of children as a readable descriptor, so that everything can be waited for at once.
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals for this process and reads them from here on.
    pub fn new(signals: &[libc::c_int]) -> io::Result<Self> {
        // SAFETY: the set is initialised; the descriptor is new.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in signals {
                libc::sigaddset(&mut set, *signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
            match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                file => Ok(Self(OwnedFd::from_raw_fd(file))),
            }
        }
    }

    /// Takes the next signal that has come, if any. The first process of a namespace is asked to
    /// end from outside alone: who sends a signal from there has no number here.
    pub fn take(&self) -> Option<libc::c_int> {
        let first = std::process::id() == 1;
        loop {
            let (signal, sender) = self.next()?;
            if !first || signal == libc::SIGCHLD || sender == 0 {
                return Some(signal);
            }
        }
    }

    fn next(&self) -> Option<(libc::c_int, u32)> {
        // SAFETY: reads at most one record into room for one.
        unsafe {
            let mut signal: libc::signalfd_siginfo = std::mem::zeroed();
            let size = std::mem::size_of_val(&signal);
            let read = libc::read(self.0.as_raw_fd(), (&raw mut signal).cast(), size);
            let taken = (signal.ssi_signo as libc::c_int, signal.ssi_pid);
            (read == size as isize).then_some(taken)
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one of the descriptors is ready or has ended, or the deadline has come; whether
/// each is. Negative descriptors are never ready. Allocates nothing.
pub fn poll<const N: usize>(files: [RawFd; N], deadline_ns: Option<i64>) -> io::Result<[bool; N]> {
    let mut asked = files.map(question);
    ask(&mut asked, deadline_ns)?;
    Ok(asked.map(|file| file.revents != 0))
}

/// The same for any number of descriptors.
pub fn poll_all(files: &[RawFd], deadline_ns: Option<i64>) -> io::Result<Vec<bool>> {
    let mut asked: Vec<_> = files.iter().copied().map(question).collect();
    ask(&mut asked, deadline_ns)?;
    Ok(asked.iter().map(|file| file.revents != 0).collect())
}

fn question(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}

fn ask(asked: &mut [libc::pollfd], deadline_ns: Option<i64>) -> io::Result<()> {
    let timeout = deadline_ns.map(|deadline| clock::timespec(deadline - clock::monotonic()));
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let (start, count) = (asked.as_mut_ptr(), asked.len() as libc::nfds_t);
    // SAFETY: as many records as are said; no signal mask.
    let ready = unsafe { libc::ppoll(start, count, timeout, std::ptr::null()) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}
