//! Wall time.

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;

pub const PROGRAM: Program = Program {
    name: "sleep",
    title: "sleeps until so long after its first line, and stamps when it really woke",
    unit: "ms",
    tells: true,
    run,
};

fn run(opening: &Opening, milliseconds: i64) -> Result<Never, String> {
    clock::sleep_until(opening.first.wall_ns + milliseconds * 1_000_000);
    opening.tell_until(&Stamp::last(), &[])
}
