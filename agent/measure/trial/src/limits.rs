//! What a launch may take beside its wall time: held by the kernel where the worker has groups for
//! it, and otherwise looked after from tick to tick, which a short excess can escape.

use record::{FaultKind, Limits};
use sys::cgroup::Group;
use sys::clock;
use sys::tree::{self, Tree};

use crate::capture::Capture;

/// How soon an excess is seen that the kernel does not hold, or that it holds without an end.
const TICK_NS: i64 = 5_000_000;
/// Between two looks at the CPU time, where little is left of it.
const LEAST_NS: i64 = 1_000_000;

/// What was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    CpuTime,
    Memory,
    Output,
    Processes,
}

/// The limits of one launch.
pub struct Limited {
    given: Limits,
    /// Whether the kernel holds memory and processes.
    held: [bool; 2],
    /// CPU time of the worker's group at the launch.
    cpu_before_ns: Option<i64>,
    cpus: i64,
    /// When to look at the CPU time again, and at all else.
    cpu_ns: i64,
    tick_ns: i64,
}

impl Limited {
    /// To be called before the launch.
    pub fn begin(given: Limits, group: &mut Group, cpu_before_ns: Option<i64>) -> Self {
        let held = group.limit([given.memory_bytes, given.processes]);
        // SAFETY: no preconditions.
        let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1);
        let now = clock::monotonic();
        Self {
            given,
            held,
            cpu_before_ns,
            cpus,
            cpu_ns: given
                .cpu_ns
                .map_or(i64::MAX, |most| now.saturating_add(whole(most) / cpus)),
            tick_ns: now + TICK_NS,
        }
    }

    /// When to look again.
    pub fn next_ns(&self) -> i64 {
        let Limits {
            memory_bytes,
            processes,
            ..
        } = self.given;
        let ticks = memory_bytes.is_some() || processes.is_some();
        self.cpu_ns.min(if ticks { self.tick_ns } else { i64::MAX })
    }

    /// Whether something is exceeded by now.
    pub fn look(
        &mut self,
        group: &Group,
        tree: &Tree,
        capture: Option<&Capture>,
    ) -> Option<Excess> {
        let written = capture.map_or(0, Capture::written);
        if self.given.output_bytes.is_some_and(|most| written > most) {
            return Some(Excess::Output);
        }
        let now = clock::monotonic();
        if now < self.next_ns() {
            return None;
        }
        let [memory, processes] = group.hit();
        if memory && self.given.memory_bytes.is_some() {
            return Some(Excess::Memory);
        }
        if processes && self.given.processes.is_some() {
            return Some(Excess::Processes);
        }
        let counted = group.read().cpu_ns.zip(self.cpu_before_ns);
        let unheld = (self.given.memory_bytes.is_some() && !self.held[0])
            || (self.given.processes.is_some() && !self.held[1])
            || (self.given.cpu_ns.is_some() && counted.is_none());
        let seen = unheld.then(|| tree::sums(std::process::id() as i32));
        if let Some(seen) = &seen {
            let beyond = |most: Option<u64>, held: bool, now: u64| {
                !held && most.is_some_and(|most| now > most)
            };
            // Too many processes exceed the memory as well, of which each counts what all share:
            // it is their number that is exact.
            if beyond(self.given.processes, self.held[1], seen.threads) {
                return Some(Excess::Processes);
            }
            if beyond(self.given.memory_bytes, self.held[0], seen.memory_bytes) {
                return Some(Excess::Memory);
            }
        }
        self.tick_ns = now + TICK_NS;
        let most = whole(self.given.cpu_ns?);
        let used = match (counted, &seen) {
            (Some((now, before)), _) => now - before,
            (None, Some(seen)) => seen.cpu_ns + tree.orphans_ns,
            (None, None) => 0,
        };
        if used > most {
            return Some(Excess::CpuTime);
        }
        self.cpu_ns = now + ((most - used) / self.cpus).max(LEAST_NS);
        None
    }

    /// What was exceeded of all that is known at the end, though nobody saw it in time.
    pub fn conclude(
        &self,
        group: &mut Group,
        cpu_ns: Option<i64>,
        memory_bytes: Option<i64>,
        written: u64,
    ) -> Option<Excess> {
        let [memory, processes] = group.hit();
        group.limit([None, None]);
        let beyond = |most: Option<u64>, used: Option<i64>| {
            most.zip(used)
                .is_some_and(|(most, used)| used > whole(most))
        };
        if beyond(self.given.cpu_ns, cpu_ns) {
            return Some(Excess::CpuTime);
        }
        if self.given.memory_bytes.is_some() && memory
            || beyond(self.given.memory_bytes, memory_bytes)
        {
            return Some(Excess::Memory);
        }
        if self.given.processes.is_some() && processes {
            return Some(Excess::Processes);
        }
        let output = self.given.output_bytes;
        output
            .is_some_and(|most| written > most)
            .then_some(Excess::Output)
    }

    /// What is said of an excess.
    pub fn fault(&self, excess: Excess, subject: &str) -> (FaultKind, String) {
        let (kind, what) = match excess {
            Excess::CpuTime => {
                let most = self.given.cpu_ns.unwrap_or_default() as f64 / 1e9;
                (FaultKind::CpuTime, format!("its {most} s of CPU time"))
            }
            Excess::Memory => {
                let bytes = self.given.memory_bytes.unwrap_or_default() as f64;
                let most = (bytes / f64::from(1 << 20) * 1e3).round() / 1e3;
                (FaultKind::OutOfMemory, format!("its {most} MiB of memory"))
            }
            Excess::Output => {
                let most = self.given.output_bytes.unwrap_or_default();
                (FaultKind::Output, format!("its {most} bytes of output"))
            }
            Excess::Processes => {
                let most = self.given.processes.unwrap_or_default();
                (
                    FaultKind::Processes,
                    format!("its {most} processes and threads"),
                )
            }
        };
        (kind, format!("{subject} exceeded {what}"))
    }
}

/// As long as numbers can count, where more is asked for.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
