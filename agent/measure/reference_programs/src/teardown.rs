//! The time in which memory is given back at the end.

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;
use crate::touch::{page_bytes, Fresh};

/// Rounds of which the shortest counts, since other processes only make a round longer.
const ROUNDS: usize = 3;

pub const PROGRAM: Program = Program {
    name: "teardown",
    title: "times how so much memory is given back, and ends with as much of it",
    unit: "MiB",
    tells: true,
    run,
};

fn run(opening: &Opening, mebibytes: i64) -> Result<Never, String> {
    let pages = (mebibytes << 20) as usize / page_bytes();
    let mut least = i64::MAX;
    for _ in 0..ROUNDS {
        let memory = Fresh::new(pages)?;
        memory.touch();
        let start = clock::monotonic();
        drop(memory);
        least = least.min(clock::monotonic() - start);
    }
    let memory = Fresh::new(pages)?;
    memory.touch();
    opening.tell_until(&Stamp::last(), &[("teardown_ns", least)])
}
