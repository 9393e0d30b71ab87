//! Voluntary context switches.

use std::io;

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;

/// Long enough for the reader to have gone to sleep before the next byte comes.
const PAUSE_NS: i64 = 300_000;

pub const PROGRAM: Program = Program {
    name: "switch",
    title: "sleeps for so many bytes, one by one, in a pipe from a child that it does not wait for",
    unit: "bytes",
    tells: true,
    run,
};

fn run(opening: &Opening, bytes: i64) -> Result<Never, String> {
    let ([data, give], [answer, reply]) = (pipe()?, pipe()?);
    // SAFETY: a plain switch: what the child uses up is then added to nobody's account.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let came = opening.begun.since(&opening.first).voluntary_switches;
    // SAFETY: one thread; the child writes, reads and ends.
    match unsafe { libc::fork() } {
        -1 => return Err(format!("cannot fork: {}", io::Error::last_os_error())),
        0 => serve(give, answer, bytes),
        _ => {}
    }
    for _ in 0..bytes {
        // The child sleeps after each answer, so that this always has to wait.
        let got = transfer(data, libc::read) && transfer(reply, write);
        if !got {
            return Err("the child is gone".to_string());
        }
    }
    let end = Stamp::take().since(&opening.first);
    opening.tell(&[
        ("wall_ns", end.wall_ns),
        ("voluntary_switches", came + bytes),
    ])
}

fn serve(give: libc::c_int, answer: libc::c_int, bytes: i64) -> ! {
    for _ in 0..bytes {
        clock::sleep_until(clock::monotonic() + PAUSE_NS);
        if !(transfer(give, write) && transfer(answer, libc::read)) {
            break;
        }
    }
    // SAFETY: ends the child.
    unsafe { libc::_exit(0) }
}

type Call = unsafe extern "C" fn(libc::c_int, *mut libc::c_void, usize) -> isize;

/// With the signature of `read`.
unsafe extern "C" fn write(to: libc::c_int, from: *mut libc::c_void, length: usize) -> isize {
    libc::write(to, from, length)
}

fn transfer(end: libc::c_int, call: Call) -> bool {
    let mut byte = [0_u8; 1];
    // SAFETY: one byte, out of or into the buffer.
    unsafe { call(end, byte.as_mut_ptr().cast(), 1) == 1 }
}

fn pipe() -> Result<[libc::c_int; 2], String> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written.
    match unsafe { libc::pipe(ends.as_mut_ptr()) } {
        0 => Ok(ends),
        _ => Err(format!(
            "cannot make a pipe: {}",
            io::Error::last_os_error()
        )),
    }
}
