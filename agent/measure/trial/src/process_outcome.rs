//! What is made of a run that is over: figures, and what went wrong.

use std::sync::atomic::Ordering::Acquire;

use record::{FaultKind, Outlived, Phase};
use sys::cgroup::Reading;
use sys::clock;
use sys::tree::{self, Relative, Status};

use crate::capture::Capture;
use crate::derive_metrics;
use crate::limits::Excess;
use crate::perf_task::Followed;
use crate::process_run::{Interruption, ProcessRun};
use crate::sample_buffer::{Entry, Figure};
use crate::worker::Closed;
use crate::worker_trial::WorkerTrial;

/// How many processes that outlived the command are named.
const MOST_NAMES: usize = 5;

/// Launches, waits, accounts; whether all went well.
///
/// `executions` iterations are done in the process: its time-out is so many times that of one.
pub fn follow(
    part: &mut WorkerTrial,
    entry: &mut Entry,
    script: &[u8],
    round: Option<u32>,
    executions: u32,
) -> Result<bool, Closed> {
    let iteration = entry.iteration;
    let launched = ProcessRun::launch(part, entry, script, round, executions);
    let mut run = match launched {
        Ok(run) => run,
        Err(message) => {
            part.fault(iteration, FaultKind::Launch, message, None);
            return Ok(false);
        }
    };
    run.wait(part)?;
    Ok(run.conclude(part, entry))
}

impl ProcessRun {
    /// From what happened to figures and faults; whether all went well.
    fn conclude(mut self, part: &mut WorkerTrial, entry: &mut Entry) -> bool {
        if let Some(capture) = &mut self.capture {
            capture.drain();
            if let Some(captured) = &mut part.captured {
                captured.end(entry.iteration.unwrap_or_default(), capture);
            }
        }
        let counted = part.worker.group.read().since(&self.before);
        let memory_bytes = part.worker.group.memory_bytes();
        let head = part.worker.block.head();
        if self.interruption == Some(Interruption::TailOver) {
            // None: it was ended while it was still waiting to begin.
            let before = head.before.monotonic_ns.load(Acquire);
            entry.set(Figure::StartAround, (before > 0).then_some(before));
            entry.set(Figure::EndAround, clock::monotonic());
            return false;
        }
        let failure = part.launch_failure();
        if failure.is_none() {
            self.account(part, entry, &counted, memory_bytes);
        }
        self.judge(part, entry);
        self.warn(part, entry);
        match failure
            .map(|why| (FaultKind::Launch, why))
            .or_else(|| self.failure(part, entry))
        {
            None => true,
            Some((kind, message)) => {
                let evidence = self.capture.as_ref().and_then(Capture::evidence);
                if self.phase != Phase::Tail {
                    part.fault(entry.iteration, kind, message, evidence);
                }
                false
            }
        }
    }

    /// Whether it took more than it may, though nobody saw it in time.
    fn judge(&mut self, part: &mut WorkerTrial, entry: &Entry) {
        let Some(limited) = &self.limited else {
            return;
        };
        let cpu = entry.get(Figure::CpuGroup).or(entry.get(Figure::CpuReaped));
        let memory = entry.get(Figure::MemoryGroup);
        let memory = memory.or(entry.get(Figure::MemoryRusage));
        let written = self.capture.as_ref().map_or(0, Capture::written);
        let excess = limited
            .conclude(&mut part.worker.group, cpu, memory, written)
            .or_else(|| {
                // The signal for too large a file, or what a shell makes of it.
                let ended = self.tree.end.as_ref()?.status;
                let signal = libc::SIGXFSZ;
                let too_large = [Status::Killed(signal), Status::Exited(128 + signal)];
                let limited = part.job.limits?.output_bytes.is_some();
                (limited && too_large.contains(&ended)).then_some(Excess::Output)
            });
        if self.interruption.is_none() {
            self.interruption = excess.map(Interruption::Excess);
        }
    }

    fn account(
        &self,
        part: &WorkerTrial,
        entry: &mut Entry,
        counted: &Reading,
        memory_bytes: Option<i64>,
    ) {
        let head = part.worker.block.head();
        // It may have been ended while it was still waiting to begin.
        if head.before.monotonic_ns.load(Acquire) != 0 {
            if let Some(end) = &self.tree.end {
                derive_metrics::root(entry, head, end);
            }
            if let Some(stamps) = self.followed.as_ref().and_then(Followed::stamps) {
                derive_metrics::stamped(entry, &stamps);
            }
            derive_metrics::tree(entry, head, &self.tree);
            derive_metrics::group(entry, head, counted, memory_bytes);
        }
        let timed_out = self.interruption == Some(Interruption::Timeout);
        entry.set(Figure::TimedOut, i64::from(timed_out));
    }

    fn failure(&self, part: &WorkerTrial, entry: &Entry) -> Option<(FaultKind, String)> {
        let subject = part.subject();
        if self.interruption == Some(Interruption::Timeout) {
            let limit = written(self.limit_ns.unwrap_or_default());
            let waits = part.meeting.as_ref().zip(self.round);
            let message = if waits.is_some_and(|(meeting, round)| meeting.waits(round)) {
                format!("{subject} waited {limit} at the barrier for workers that did not come")
            } else {
                format!("{subject} exceeded its {limit} and was killed")
            };
            return Some((FaultKind::Timeout, message));
        }
        if let (Some(Interruption::Excess(excess)), Some(limited)) =
            (self.interruption, &self.limited)
        {
            return Some(limited.fault(excess, &subject));
        }
        if let Some(complaint) = part.worker.block.complaint() {
            let wrong = part.worker.block.head().wrong.load(Acquire) == 1;
            let kind = if wrong {
                FaultKind::Check
            } else {
                FaultKind::Job
            };
            return Some((kind, complaint));
        }
        let status = self.tree.end.as_ref()?.status;
        if status != Status::Exited(0) && entry.get(Figure::OomKilled) == Some(1) {
            return Some((
                FaultKind::OutOfMemory,
                format!("the kernel killed {subject} for want of memory"),
            ));
        }
        match status {
            Status::Exited(0) => None,
            ended if part.is_ignored(ended) => None,
            Status::Exited(code) => Some((
                FaultKind::Exit,
                format!("{subject} ended with exit code {code}"),
            )),
            Status::Killed(signal) => {
                let name = tree::signal_name(signal);
                Some((
                    FaultKind::Signal,
                    format!("{subject} was ended by signal {signal} ({name})"),
                ))
            }
        }
    }

    fn warn(&self, part: &mut WorkerTrial, entry: &Entry) {
        if let Some(outlived) = self.outlived() {
            let seconds = outlived.duration_ns as f64 / 1e9;
            let message = format!(
                "{} left processes that {} {seconds:.3} s after it: {}",
                part.subject(),
                if outlived.killed {
                    "were killed"
                } else {
                    "ended"
                },
                outlived.names.join(", ")
            );
            part.outlived(entry.iteration, message, outlived);
        }
        let doubts = [
            derive_metrics::disagreement(entry),
            self.capture.as_ref().and_then(Capture::failure),
        ];
        for message in doubts.into_iter().flatten() {
            part.fault(entry.iteration, FaultKind::Warning, message, None);
        }
        if !self.tree.empty {
            let message = format!("{} left processes that cannot be killed", part.subject());
            part.fault(entry.iteration, FaultKind::Survived, message, None);
        }
    }
    /// Returns the descendants that outlived the root process; none where all had ended in time.
    fn outlived(&self) -> Option<Outlived> {
        let found = self.outlived.as_ref().filter(|found| !found.is_empty())?;
        let mut names = Vec::new();
        for Relative { name, .. } in found {
            if !names.contains(name) && names.len() < MOST_NAMES {
                names.push(name.clone());
            }
        }
        let ended = self.tree.end.as_ref()?.monotonic_ns;
        Some(Outlived {
            names,
            duration_ns: (self.tree.emptied_ns - ended).max(0) as u64,
            killed: self.killed,
        })
    }
}

/// A time limit in the largest unit of which it is at least one, as people type it: "50 ms".
fn written(limit_ns: i64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let found = units.into_iter().find(|(size, _)| limit_ns >= *size);
    let (size, unit) = found.unwrap_or((1, "ns"));
    format!("{} {unit}", limit_ns as f64 / size as f64)
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn a_limit_is_written_as_it_is_typed() {
        assert_eq!(written(50_000_000), "50 ms");
        assert_eq!(written(1_500_000_000), "1.5 s");
        assert_eq!(written(600_000_000_000), "600 s");
        assert_eq!(written(250_000), "250 µs");
        assert_eq!(written(10), "10 ns");
    }
}
