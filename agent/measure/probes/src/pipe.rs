//! Pipes that carry one byte at a time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A pair of pipes: one to the partner, one back.
pub struct Pipes {
    there: Pipe,
    back: Pipe,
}

impl Pipes {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            there: Pipe::new()?,
            back: Pipe::new()?,
        })
    }

    pub fn round_trip(&self) -> bool {
        self.there.put() && self.back.take()
    }

    /// The partner's part, until it is told to end: it works before it answers.
    pub fn answer(&self, work: impl Fn()) {
        while self.there.take() {
            work();
            if !self.back.put() {
                break;
            }
        }
    }

    /// Ends a partner that shares the descriptors: it takes a stop for an end.
    pub fn finish(&self) {
        self.there.stop();
    }
}

/// One byte at a time.
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

const GOES_ON: u8 = 0;
const STOPS: u8 = 1;

impl Pipe {
    pub fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: writes two descriptors, which are new.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                read: OwnedFd::from_raw_fd(ends[0]),
                write: OwnedFd::from_raw_fd(ends[1]),
            })
        }
    }

    pub fn put(&self) -> bool {
        self.send(GOES_ON)
    }

    fn stop(&self) -> bool {
        self.send(STOPS)
    }

    fn send(&self, byte: u8) -> bool {
        // SAFETY: reads one byte.
        unsafe { libc::write(self.write.as_raw_fd(), (&raw const byte).cast(), 1) == 1 }
    }

    /// Whether there was a byte that goes on.
    pub fn take(&self) -> bool {
        let mut byte = STOPS;
        // SAFETY: writes one byte.
        let got = unsafe { libc::read(self.read.as_raw_fd(), (&raw mut byte).cast(), 1) };
        got == 1 && byte == GOES_ON
    }
}
