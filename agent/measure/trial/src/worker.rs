//! What a worker's process keeps from trial to trial.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use launch::inherited::{BINARY_FD, CONTROL_FD};
use launch::shared_block::SharedBlock;
use sys::cgroup::{self, Group};
use sys::perf::Event;
use sys::usage::WrittenBytes;
use sys::watch::Signals;

use crate::sample_buffer::SampleBuffer;

/// The main process is gone, or wants the worker to be.
#[derive(Debug)]
pub struct Closed;

/// What a worker keeps from trial to trial.
pub struct Worker {
    pub control: UnixStream,
    pub binary: OwnedFd,
    pub signals: Signals,
    pub block: SharedBlock,
    pub samples: SampleBuffer,
    pub null: File,
    pub group: Group,
    pub written: WrittenBytes,
    /// Beside its main process, the first of all, nobody is here but what workers launch.
    pub alone: bool,
    /// An event that keeps the kernel ready for more.
    pub patched: Option<Event>,
    /// The last warning that is not to be repeated.
    pub warned: Option<String>,
}

impl Worker {
    /// Takes what the main process gave this one.
    pub fn settle(name: &str, number: u32, alone: bool) -> io::Result<Self> {
        // SAFETY: a plain switch: descendants that lose their parent become our children.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let written = WrittenBytes::open();
        Ok(Self {
            control: UnixStream::from(inherited(CONTROL_FD)?),
            binary: inherited(BINARY_FD)?,
            // Those that ask it to end are its main process's to follow, which then says so.
            signals: Signals::new(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?,
            block: SharedBlock::new(1)?,
            samples: SampleBuffer::new(1)?,
            null: File::options().read(true).write(true).open("/dev/null")?,
            group: Group::make(name, &cgroup::of_worker(name, number)),
            written,
            alone,
            patched: None,
            warned: None,
        })
    }
}

/// An inherited descriptor, moved out of the way of what children get and closed on exec.
fn inherited(file: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the main process put it there; the copy is new.
    unsafe {
        match libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 10) {
            -1 => Err(io::Error::last_os_error()),
            moved => {
                libc::close(file);
                Ok(OwnedFd::from_raw_fd(moved))
            }
        }
    }
}
