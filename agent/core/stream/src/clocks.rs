//! What the clocks can do and cost, as facts.

use record::{Record, Value};
use sys::clock;

use crate::fact;

const BATCHES: usize = 101;
const READINGS: i64 = 32;

/// Resolution and cost of the clocks.
pub fn facts(id: u64) -> Vec<Record> {
    let mut facts = Vec::new();
    if let Ok(resolution) = clock::resolution(libc::CLOCK_MONOTONIC) {
        let value = Value::Integer(resolution);
        facts.push(fact(
            id,
            "clock_resolution_ns",
            value,
            Some("ns"),
            "clock_getres",
        ));
    }
    for (name, clock) in [
        ("clock_overhead_ns", libc::CLOCK_MONOTONIC),
        ("cpu_clock_overhead_ns", libc::CLOCK_PROCESS_CPUTIME_ID),
    ] {
        let value = Value::Integer(overhead(clock));
        facts.push(fact(
            id,
            name,
            value,
            Some("ns"),
            "median of batches of readings in a row",
        ));
    }
    facts
}

/// Median time of one reading.
fn overhead(clock: libc::clockid_t) -> i64 {
    let mut batches: Vec<i64> = (0..BATCHES)
        .map(|_| {
            let start = clock::monotonic();
            for _ in 0..READINGS {
                clock::read(clock);
            }
            (clock::monotonic() - start) / READINGS
        })
        .collect();
    median(&mut batches)
}

/// Of an odd number of values.
pub fn median(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}
