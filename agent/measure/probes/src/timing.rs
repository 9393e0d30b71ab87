//! How a short operation is timed: in windows that are long beside the clock and short beside
//! what disturbs, of which the least counts.

use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread::Builder;

use sys::clock;

use crate::affinity::pin;

/// Long beside a reading of the clock (some 20 ns), short beside the timer's tick (1 to 4 ms).
const WINDOW_NS: i64 = 200_000;
/// What is too few to have met a quiet moment.
const FEWEST: usize = 5;

/// Windows of one operation, in nanoseconds an operation.
pub struct Windows {
    pub least: f64,
    pub median: f64,
}

/// Times an operation for about ``budget_ns``. `work` performs it the given number of times.
pub fn windows(budget_ns: i64, mut work: impl FnMut(u64)) -> Windows {
    windows_of_part(budget_ns, |operations| {
        let start = clock::monotonic();
        work(operations);
        clock::monotonic() - start
    })
}

/// Times one part of an operation for about `budget_ns`. `work` performs the operation the given
/// number of times, and returns the total nanoseconds of the part.
pub fn windows_of_part(budget_ns: i64, mut work: impl FnMut(u64) -> i64) -> Windows {
    let end = clock::monotonic() + budget_ns;
    let operations = calibrate(&mut work);
    let mut times = Vec::with_capacity(4096);
    while times.len() < FEWEST || clock::monotonic() < end && times.len() < times.capacity() {
        times.push(work(operations) as f64 / operations as f64);
    }
    times.sort_unstable_by(f64::total_cmp);
    Windows {
        least: times[0],
        median: times[times.len() / 2],
    }
}

/// Operations that fill a window; caches are warm afterwards.
fn calibrate(work: &mut impl FnMut(u64) -> i64) -> u64 {
    let mut operations = 1;
    loop {
        let taken = work(operations);
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

/// Performs the same on each of these CPUs at once, in threads that are bound to them and begin
/// together, or not at all. `work` is told which of the CPUs is its own.
pub fn at_once<T: Send>(cpus: &[u32], work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>, String> {
    let start = Start {
        awaited: AtomicUsize::new(cpus.len()),
        failed: AtomicBool::new(false),
    };
    let (start, work) = (&start, &work);
    let part = move |index: usize| {
        let pinned = pin(cpus[index]);
        start.arrive(pinned.is_ok());
        start.wait();
        pinned?;
        match start.failed.load(Acquire) {
            false => Ok(Some(work(index))),
            true => Ok(None),
        }
    };
    let answers: Vec<Result<Option<T>, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus.len())
            .map(|index| {
                let thread = Builder::new().spawn_scoped(scope, move || part(index));
                if thread.is_err() {
                    start.arrive(false);
                }
                thread
            })
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let thread = thread.map_err(|error| format!("no thread can be made: {error}"))?;
            thread.join().map_err(|_| "a thread panicked".to_string())?
        });
        ended.collect()
    });
    let answers: Result<Vec<_>, _> = answers.into_iter().collect();
    Ok(answers?.into_iter().flatten().collect())
}

/// Where threads wait for each other.
struct Start {
    awaited: AtomicUsize,
    failed: AtomicBool,
}

impl Start {
    fn arrive(&self, well: bool) {
        self.failed.fetch_or(!well, AcqRel);
        self.awaited.fetch_sub(1, AcqRel);
    }

    fn wait(&self) {
        while self.awaited.load(Acquire) > 0 {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use sys::topology;

    use super::*;

    #[test]
    fn windows_perform_what_they_count() {
        let mut performed = 0;
        let mut told = 0;
        let found = windows(1, |operations| {
            performed += operations;
            told = operations;
            std::thread::sleep(std::time::Duration::from_micros(operations));
        });
        assert!(performed >= told * FEWEST as u64);
        assert!(found.least > 0.0 && found.least <= found.median);
    }

    #[test]
    fn of_a_part_only_its_time_counts() {
        let mut calls = 0;
        let found = windows_of_part(0, |operations| {
            calls += 1;
            // The operation's other parts take no part in the figure, however long they are.
            std::thread::sleep(std::time::Duration::from_micros(50));
            operations as i64 * if calls % 2 == 0 { 700 } else { 900 }
        });
        assert_eq!(found.least, 700.0);
        assert!(found.median == 700.0 || found.median == 900.0);
    }

    #[test]
    fn all_cpus_begin_together_and_answer_in_order() {
        let cpus = topology::usable().unwrap();
        let begun = AtomicUsize::new(0);
        let answers = at_once(&cpus, |index| {
            begun.fetch_add(1, AcqRel);
            // SAFETY: has no preconditions.
            (index, unsafe { libc::sched_getcpu() } as u32)
        });
        let expected: Vec<_> = cpus.iter().copied().enumerate().collect();
        assert_eq!(answers.unwrap(), expected);
        assert_eq!(begun.into_inner(), cpus.len());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told_and_nobody_begins() {
        let cpus = topology::usable().unwrap();
        let why = at_once(&[cpus[0], 16_383], |_| unreachable!()).unwrap_err();
        assert!(why.contains("16383"), "{why}");
    }
}
