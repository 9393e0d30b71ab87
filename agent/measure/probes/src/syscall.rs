//! What a system call costs that does as little as can be.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use record::Effort;
use sys::clock;

use crate::affinity::pin;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::timing::{windows, windows_of_part, Windows};

const fn cost(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }
}

pub const PROBE: Probe = Probe {
    name: "syscall",
    title: "system calls",
    question: "What does it cost to enter the kernel and come back?",
    source: Some("SYSMEASURE, system call overhead; lmbench lat_syscall"),
    metrics: &[
        cost(
            "syscall.getpid",
            "getpid(), never remembered by the library; least of windows",
        ),
        cost(
            "syscall.getppid",
            "getppid(), which looks up another process and is what lmbench calls null; least of \
             windows",
        ),
        cost(
            "syscall.clock_gettime",
            "clock_gettime(CLOCK_MONOTONIC), forced into the kernel; least of windows",
        ),
        cost(
            "syscall.open_close",
            "opening and closing an empty file in /tmp (where that cannot be, in the directory \
             that is given), its path in the kernel's cache; least of windows",
        ),
        cost(
            "syscall.open",
            "opening that file alone: up to 64 descriptors are opened in a row, and closed after \
             the clock was read; least of windows. Not in an effort of brief",
        ),
        cost(
            "syscall.close",
            "closing them alone; least of windows. Not in an effort of brief",
        ),
        cost(
            "syscall.read_byte",
            "reading one byte of /dev/zero; least of windows",
        ),
        cost(
            "syscall.write_byte",
            "writing one byte to /dev/null; least of windows",
        ),
    ],
    seconds: Seconds {
        brief: Some(0.03),
        quick: Some(0.1),
        whole: Some(0.25),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let mut now = clock::timespec(0);
    // SAFETY: has no preconditions.
    time(round, "syscall.getpid", || unsafe {
        libc::syscall(libc::SYS_getpid)
    });
    // SAFETY: has no preconditions.
    time(round, "syscall.getppid", || unsafe {
        libc::syscall(libc::SYS_getppid)
    });
    // SAFETY: writes one timespec.
    time(round, "syscall.clock_gettime", || unsafe {
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &mut now)
    });
    open_close(round).unwrap_or_else(|why| round.unavailable("syscall.open_close", why));
    read_byte(round).unwrap_or_else(|why| round.unavailable("syscall.read_byte", why));
    write_byte(round).unwrap_or_else(|why| round.unavailable("syscall.write_byte", why));
    Ok(())
}

/// Most calls that a round times, each for its share.
const CALLS: i64 = 8;
/// Descriptors that are open at a time: fewer than the limits of all systems (ulimit -n).
const OPEN_FILES: usize = 64;

/// Times a call for its share of the round. One that fails is cheaper, and not what is asked.
fn time(round: &Round, metric: &str, mut call: impl FnMut() -> libc::c_long) {
    let mut failed = false;
    let windows = windows(round.budget_ns() / CALLS, |operations| {
        for _ in 0..operations {
            failed |= call() < 0;
        }
    });
    read(round, metric, failed, &windows);
}

fn read(round: &Round, metric: &str, failed: bool, windows: &Windows) {
    match failed {
        false => round.read(metric, windows.least),
        true => round.unavailable(metric, std::io::Error::last_os_error()),
    }
}

fn open_close(round: &Round) -> Result<(), String> {
    // The same everywhere, if it can be: the cost grows with the length of the path.
    let file = std::iter::once("/tmp")
        .chain(round.job.directory.as_deref())
        .find_map(|directory| Temporary::new(directory).ok())
        .ok_or("no file can be made in /tmp: give a directory by --directory DIR")?;
    let path = file.0.as_ptr();
    // SAFETY: a C string; what was opened is closed.
    time(round, "syscall.open_close", || unsafe {
        match libc::open(path, libc::O_RDONLY) {
            -1 => -1,
            opened => libc::close(opened).into(),
        }
    });
    if round.job.effort == Effort::Brief {
        return Ok(());
    }
    for (part, metric) in ["syscall.open", "syscall.close"].into_iter().enumerate() {
        let mut failed = false;
        let windows = windows_of_part(round.budget_ns() / CALLS, |operations| {
            open_then_close(&file.0, operations, &mut failed)[part]
        });
        read(round, metric, failed, &windows);
    }
    Ok(())
}

/// Opens and closes a file `operations` times, in batches. Returns the total nanoseconds of the
/// open calls, and of the close calls.
fn open_then_close(path: &CStr, operations: u64, failed: &mut bool) -> [i64; 2] {
    let mut files = [-1; OPEN_FILES];
    let (mut open_ns, mut close_ns) = (0, 0);
    let mut left = operations as usize;
    while left > 0 {
        let batch = &mut files[..left.min(OPEN_FILES)];
        let start = clock::monotonic();
        for file in batch.iter_mut() {
            // SAFETY: a C string.
            *file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) };
        }
        let opened = clock::monotonic();
        for file in batch.iter() {
            // SAFETY: what was just opened, or -1, which is refused.
            *failed |= unsafe { libc::close(*file) } < 0;
        }
        open_ns += opened - start;
        close_ns += clock::monotonic() - opened;
        left -= batch.len();
    }
    [open_ns, close_ns]
}

fn read_byte(round: &Round) -> Result<(), String> {
    let zero = File::open("/dev/zero").map_err(|error| format!("/dev/zero: {error}"))?;
    let mut byte = 0_u8;
    // SAFETY: writes one byte.
    time(round, "syscall.read_byte", || unsafe {
        libc::read(zero.as_raw_fd(), (&raw mut byte).cast(), 1) as libc::c_long
    });
    Ok(())
}

fn write_byte(round: &Round) -> Result<(), String> {
    let null = File::options().write(true).open("/dev/null");
    let null = null.map_err(|error| format!("/dev/null: {error}"))?;
    let byte = 0_u8;
    // SAFETY: reads one byte.
    time(round, "syscall.write_byte", || unsafe {
        libc::write(null.as_raw_fd(), (&raw const byte).cast(), 1) as libc::c_long
    });
    Ok(())
}

/// An empty file, removed when it is dropped.
struct Temporary(CString);

impl Temporary {
    fn new(directory: &str) -> std::io::Result<Self> {
        let path = format!("{directory}/tare-{}", std::process::id());
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(Self(CString::new(path)?))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // SAFETY: a C string.
        unsafe { libc::unlink(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_files() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn opening_and_closing_leaves_no_descriptor() {
        let file = Temporary::new("/tmp").unwrap();
        let before = open_files();
        let mut failed = false;
        for operations in [1, OPEN_FILES as u64, 3 * OPEN_FILES as u64 + 1] {
            let parts = open_then_close(&file.0, operations, &mut failed);
            assert!(parts.iter().all(|nanoseconds| *nanoseconds > 0));
        }
        assert!(!failed);
        assert_eq!(open_files(), before);
    }

    #[test]
    fn a_file_that_cannot_be_opened_has_no_time() {
        let mut failed = false;
        open_then_close(c"/nonexistent/file", 1, &mut failed);
        assert!(failed);
    }
}
