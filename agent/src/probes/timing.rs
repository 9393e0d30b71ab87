//! How a short operation is timed: in windows that are long beside the clock and short beside
//! what disturbs, of which the least counts.

use crate::clock;

/// Long beside a reading of the clock (some 20 ns), short beside the timer's tick (1 to 4 ms).
const WINDOW_NS: i64 = 200_000;
/// What is too few to have met a quiet moment.
const FEWEST: usize = 5;

/// Windows of one operation, in nanoseconds an operation.
pub struct Windows {
    pub least: f64,
    pub median: f64,
    pub count: usize,
}

/// Times an operation for about so long. `work` performs it as often as it is told.
pub fn windows(budget_ns: i64, mut work: impl FnMut(u64)) -> Windows {
    let end = clock::monotonic() + budget_ns;
    let operations = calibrate(&mut work);
    let mut times = Vec::with_capacity(4096);
    while times.len() < FEWEST || clock::monotonic() < end && times.len() < times.capacity() {
        times.push(window(&mut work, operations) as f64 / operations as f64);
    }
    times.sort_unstable_by(f64::total_cmp);
    Windows {
        least: times[0],
        median: times[times.len() / 2],
        count: times.len(),
    }
}

/// Operations that fill a window; caches are warm afterwards.
fn calibrate(work: &mut impl FnMut(u64)) -> u64 {
    let mut operations = 1;
    loop {
        let taken = window(work, operations);
        if taken >= WINDOW_NS / 2 {
            return operations;
        }
        operations = if taken < WINDOW_NS / 64 {
            operations * 8
        } else {
            operations * 2
        };
    }
}

fn window(work: &mut impl FnMut(u64), operations: u64) -> i64 {
    let start = clock::monotonic();
    work(operations);
    clock::monotonic() - start
}
