//! The time in which memory is given back at the end.

use super::stamp::Stamp;
use super::touch::{page_bytes, Fresh};
use super::{Never, Opening, Truth};
use crate::clock;

/// Of which the least counts: others' turns on the CPU are in the rest.
const ROUNDS: usize = 3;

pub const TRUTH: Truth = Truth {
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
