//! CPU time.

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;

pub const PROGRAM: Program = Program {
    name: "spin",
    title: "burns CPU time until the process's own CPU clock has so much",
    unit: "ms",
    tells: true,
    run,
};

fn run(opening: &Opening, milliseconds: i64) -> Result<Never, String> {
    let end = opening.first.cpu_ns + milliseconds * 1_000_000;
    while clock::process_cpu() < end {}
    opening.tell_until(&Stamp::last(), &[])
}
