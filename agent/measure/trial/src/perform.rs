//! A worker's part of a trial: iterations until the plan is fulfilled, then the tail.

mod window;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::Acquire;

use record::{FaultKind, Phase, Process, Record, Tail, Trial, Workload};
use sys::watch;

use crate::capture::Captured;
use crate::derive_metrics;
use crate::process_outcome::follow;
use crate::sample_buffer::{Entry, Figure};
use crate::worker::{Closed, Worker};
use crate::worker_trial::{fault, WorkerTrial};

/// How often a worker without anything to do looks after the others.
const PATIENCE_NS: i64 = 250_000_000;

/// What a trial brought beside the samples in the worker's sample buffer.
#[derive(Default)]
pub struct Outcome {
    pub faults: Vec<Record>,
    pub captured: Option<Captured>,
}

/// Performs it.
///
/// `memory` is that of the trial's meeting.
pub fn perform(
    worker: &mut Worker,
    job: &Trial,
    index: usize,
    memory: Option<OwnedFd>,
) -> Result<Outcome, Closed> {
    worker.samples.clear();
    let number = job.workers[index].worker;
    let mut part = match WorkerTrial::new(worker, job, index, memory) {
        Ok(part) => part,
        Err(message) => {
            return Ok(Outcome {
                faults: vec![Record::Fault(fault(
                    job,
                    number,
                    None,
                    FaultKind::Job,
                    message,
                    None,
                ))],
                captured: None,
            })
        }
    };
    let outcome = part.run();
    if let Some(meeting) = &part.meeting {
        meeting.leave();
    }
    outcome.map(|()| Outcome {
        faults: part.faults,
        captured: part.captured,
    })
}

impl WorkerTrial<'_> {
    fn run(&mut self) -> Result<(), Closed> {
        let planned = self.job.warmup + self.job.iterations;
        let done = match (&self.job.window, self.job.process, &self.job.workload) {
            (Some(_), _, Workload::Kernel { .. }) => self.work_through_window()?,
            (Some(window), _, _) => self.launch_through_window(window)?,
            (None, Process::Same, Workload::Kernel { .. }) => {
                self.execute_in_one_process(planned)?
            }
            _ => self.execute_each_afresh(planned)?,
        };
        if let Some(meeting) = &self.meeting {
            if done {
                meeting.finish();
            } else {
                meeting.leave();
            }
        }
        // A kernel in a window has kept the load on in its own process.
        let loaded = match &self.job.window {
            Some(_) => matches!(self.job.workload, Workload::Command { .. }),
            None => self.job.tail == Tail::Loaded,
        };
        let mut busy = done && loaded;
        let mut iteration = self.next.max(planned);
        while self.others_measure() {
            if busy {
                busy = self.iterate(iteration, Phase::Tail)?;
                iteration += 1;
            } else {
                self.idle()?;
            }
        }
        Ok(())
    }

    fn execute_each_afresh(&mut self, planned: u32) -> Result<bool, Closed> {
        for iteration in 0..planned {
            if !self.iterate(iteration, self.phase(iteration))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn execute_in_one_process(&mut self, planned: u32) -> Result<bool, Closed> {
        let script = self.script(planned, Some(1), self.job.tail == Tail::Loaded);
        let mut whole = Entry::new(None, Phase::Measured);
        let ok = follow(self, &mut whole, &script, Some(1), planned)?;
        let block = &self.worker.block;
        let executions = block.head().executions.load(Acquire);
        for iteration in 0..executions.min(planned) {
            let mut entry = Entry::new(Some(iteration), self.phase(iteration));
            derive_metrics::timed_region(&mut entry, block.slot(iteration as usize));
            self.worker.samples.push(entry);
        }
        derive_metrics::span(&mut whole, block.head());
        self.worker.samples.push(whole);
        let mut tail = Entry::new(Some(planned), Phase::Tail);
        if derive_metrics::stamps(&mut tail, block.slot(planned as usize)) {
            self.worker.samples.push(tail);
        }
        Ok(ok)
    }

    /// One iteration in a process of its own; whether it went well.
    fn iterate(&mut self, iteration: u32, phase: Phase) -> Result<bool, Closed> {
        let round = (phase != Phase::Tail).then_some(iteration + 1);
        let mut entry = Entry::new(Some(iteration), phase);
        let script = self.script(1, round, false);
        let ok = follow(self, &mut entry, &script, round, 1)?;
        let block = &self.worker.block;
        if block.head().executions.load(Acquire) == 1 {
            derive_metrics::timed_region(&mut entry, block.slot(0));
            derive_metrics::span(&mut entry, block.head());
        }
        if let (Some(meeting), Some(round)) = (&self.meeting, round) {
            entry.set(Figure::StartSkew, meeting.skew_ns(round));
        }
        self.worker.samples.push(entry);
        Ok(ok)
    }

    /// Waits for the others with nothing to do.
    fn idle(&mut self) -> Result<(), Closed> {
        if let Some(meeting) = &self.meeting {
            meeting.sleep(PATIENCE_NS);
            meeting.mark_the_dead();
        }
        let control = self.worker.control.as_raw_fd();
        match watch::poll([control], Some(0)) {
            Ok([false]) => Ok(()),
            _ => Err(Closed),
        }
    }

    fn phase(&self, iteration: u32) -> Phase {
        if iteration < self.job.warmup {
            Phase::Warmup
        } else {
            Phase::Measured
        }
    }
}
