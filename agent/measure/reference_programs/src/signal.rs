//! Ends by signal.

use crate::program::{Never, Opening, Program};

pub const PROGRAM: Program = Program {
    name: "signal",
    title: "ends itself by this signal",
    unit: "number",
    tells: false,
    run,
};

fn run(_: &Opening, number: i64) -> Result<Never, String> {
    // SAFETY: sends a signal to itself. The first process of a container has no default actions,
    // but a launched one is never the first.
    unsafe {
        libc::signal(number as i32, libc::SIG_DFL);
        libc::raise(number as i32);
    }
    Err(format!("signal {number} does not end a process"))
}
