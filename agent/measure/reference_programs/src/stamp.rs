//! What a program can see of itself at a moment.

use sys::{clock, usage};

/// Longer than a timer's slack.
const REST_NS: i64 = 200_000;

/// Words that a stamp takes on a command line.
pub const WORDS: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub wall_ns: i64,
    /// Of the whole process, since its birth.
    pub cpu_ns: i64,
    pub minor_faults: i64,
    pub voluntary_switches: i64,
}

impl Stamp {
    pub fn take() -> Self {
        let wall_ns = clock::monotonic();
        let cpu_ns = clock::process_cpu();
        let usage = usage::own();
        Self {
            wall_ns,
            cpu_ns,
            minor_faults: usage.minor_faults,
            voluntary_switches: usage.voluntary_switches,
        }
    }

    /// At the end of what is timed: the wall clock is the last that is read.
    ///
    /// What is told afterwards wakes whoever reads it, which takes the CPU from a process that
    /// has used it for long, and so its end would be late by other processes' turns. Who has just
    /// slept keeps the CPU for a while.
    pub fn last() -> Self {
        clock::sleep_until(clock::monotonic() + REST_NS);
        let mut stamp = Self::take();
        stamp.cpu_ns = clock::process_cpu();
        stamp.wall_ns = clock::monotonic();
        stamp
    }

    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            wall_ns: self.wall_ns - earlier.wall_ns,
            cpu_ns: self.cpu_ns - earlier.cpu_ns,
            minor_faults: self.minor_faults - earlier.minor_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
        }
    }

    /// For the command line of the next exec.
    pub fn words(&self) -> impl Iterator<Item = String> {
        let numbers = [
            self.wall_ns,
            self.cpu_ns,
            self.minor_faults,
            self.voluntary_switches,
        ];
        numbers.into_iter().map(|number| number.to_string())
    }

    pub fn parse(words: &[String]) -> Option<Self> {
        let mut numbers = words.iter().take(WORDS).map(|word| word.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            wall_ns: next()?,
            cpu_ns: next()?,
            minor_faults: next()?,
            voluntary_switches: next()?,
        })
    }
}
