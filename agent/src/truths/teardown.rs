//! The time in which memory is given back at the end.

use super::stamp::Stamp;
use super::touch::{Fresh, PAGE};
use super::{Never, Opening, Truth};
use crate::clock;

pub const TRUTH: Truth = Truth {
    name: "teardown",
    title: "times how so much memory is given back, and ends with as much of it",
    unit: "MiB",
    tells: true,
    run,
};

fn run(opening: &Opening, mebibytes: i64) -> Result<Never, String> {
    let pages = (mebibytes << 20) as usize / PAGE;
    let memory = Fresh::new(pages)?;
    memory.touch();
    let start = clock::monotonic();
    drop(memory);
    let given_back = clock::monotonic() - start;
    let memory = Fresh::new(pages)?;
    memory.touch();
    opening.tell_until(&Stamp::last(), &[("teardown_ns", given_back)])
}
