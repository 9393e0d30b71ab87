//! Wall time.

use std::ptr;

use super::stamp::Stamp;
use super::{Never, Opening, Truth};
use crate::clock;

pub const TRUTH: Truth = Truth {
    name: "sleep",
    title: "sleeps until so long after its first line, and stamps when it really woke",
    unit: "ms",
    tells: true,
    run,
};

fn run(opening: &Opening, milliseconds: i64) -> Result<Never, String> {
    until(opening.first.wall_ns + milliseconds * 1_000_000);
    opening.tell_until(&Stamp::last(), &[])
}

/// Sleeps until a moment of the monotonic clock, whatever wakes it before.
pub fn until(moment_ns: i64) {
    let moment = clock::timespec(moment_ns);
    let (id, kind) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: reads one timespec.
    while unsafe { libc::clock_nanosleep(id, kind, &moment, ptr::null_mut()) } == libc::EINTR {}
}
