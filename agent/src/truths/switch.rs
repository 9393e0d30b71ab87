//! Voluntary context switches.

use std::io;

use super::sleep::until;
use super::stamp::Stamp;
use super::{Never, Opening, Truth};
use crate::clock;

/// Long enough for the reader to have gone to sleep again.
const PAUSE_NS: i64 = 200_000;

pub const TRUTH: Truth = Truth {
    name: "switch",
    title: "sleeps and writes a byte so many times; a child that it waits for sleeps for each",
    unit: "bytes",
    tells: true,
    run,
};

fn run(opening: &Opening, bytes: i64) -> Result<Never, String> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } < 0 {
        return Err(format!(
            "cannot make a pipe: {}",
            io::Error::last_os_error()
        ));
    }
    let [reader, writer] = ends;
    // SAFETY: one thread; the child reads and ends.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(format!("cannot fork: {}", io::Error::last_os_error())),
        0 => read(reader, writer),
        _ => {}
    }
    for _ in 0..bytes {
        until(clock::monotonic() + PAUSE_NS);
        // SAFETY: one byte of a constant.
        unsafe { libc::write(writer, b"x".as_ptr().cast(), 1) };
    }
    // SAFETY: the end of what the child reads; then it is waited for.
    unsafe {
        libc::close(writer);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    let came = opening.begun.since(&opening.first).voluntary_switches;
    let wall = Stamp::last().since(&opening.first).wall_ns;
    opening.tell(&[("wall_ns", wall), ("voluntary_switches", came + 2 * bytes)])
}

/// Until the other end is closed.
fn read(reader: libc::c_int, writer: libc::c_int) -> ! {
    let mut byte = [0_u8; 1];
    // SAFETY: one byte at a time into the buffer; then ends the child.
    unsafe {
        libc::close(writer);
        while libc::read(reader, byte.as_mut_ptr().cast(), 1) == 1 {}
        libc::_exit(0)
    }
}
