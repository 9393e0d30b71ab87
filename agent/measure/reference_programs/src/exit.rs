//! Exit codes.

use crate::program::{Never, Opening, Program};

pub const PROGRAM: Program = Program {
    name: "exit",
    title: "ends with this exit code",
    unit: "code",
    tells: false,
    run,
};

fn run(_: &Opening, code: i64) -> Result<Never, String> {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code as i32) }
}
