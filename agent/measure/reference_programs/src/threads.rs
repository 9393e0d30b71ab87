//! A process whose first thread ends long before it.

use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::Arc;

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;

/// Enough for one to be the last.
const THREADS: usize = 2;

pub const PROGRAM: Program = Program {
    name: "threads",
    title: "two threads burn so much CPU time each; the first thread ends before them",
    unit: "ms",
    tells: true,
    run,
};

fn run(opening: &Opening, milliseconds: i64) -> Result<Never, String> {
    let left = Arc::new(AtomicUsize::new(THREADS));
    for _ in 0..THREADS {
        let (left, opening) = (left.clone(), opening.clone());
        let spin = move || {
            while clock::read(libc::CLOCK_THREAD_CPUTIME_ID) < milliseconds * 1_000_000 {}
            if left.fetch_sub(1, AcqRel) == 1 {
                opening.tell_until(&Stamp::last(), &[]);
            }
        };
        let started = std::thread::Builder::new().spawn(spin);
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
    }
    // SAFETY: ends this thread alone, without the C library, which would end the process.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the thread has ended")
}
