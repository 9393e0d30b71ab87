//! What a system call costs that does as little as can be.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use sys::clock;

use crate::affinity::pin;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::timing::windows;

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
        whole: Some(0.2),
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

/// Times a call for its share of the round. One that fails is cheaper, and not what is asked.
fn time(round: &Round, metric: &str, mut call: impl FnMut() -> libc::c_long) {
    let mut failed = false;
    let windows = windows(round.budget_ns() / 6, |operations| {
        for _ in 0..operations {
            failed |= call() < 0;
        }
    });
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
    Ok(())
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
