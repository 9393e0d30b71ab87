//! The run of one process from its launch until nothing is left of it.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Acquire;

use launch::Surroundings;
use record::Phase;
use sys::cgroup::Reading;
use sys::clock;
use sys::secrecy;
use sys::tree::{self, Relative, Tree};
use sys::watch;

use crate::capture::Capture;
use crate::limits::{Excess, Limited};
use crate::perf_task::Followed;
use crate::sample_buffer::Entry;
use crate::worker::Closed;
use crate::worker_trial::WorkerTrial;

/// How soon a tail iteration is ended when the others have finished.
const TAIL_TICK_NS: i64 = 2_000_000;
/// How long descendants may outlive the root process before they are looked for.
const STRAGGLER_NS: i64 = 5_000_000;
/// How long what was killed may take to go.
const KILL_NS: i64 = 2_000_000_000;
/// How long who is always somebody else by the time he is found is looked for, one by one; and
/// where there are too many.
const CHASE_NS: i64 = 1_000_000_000;
const CHASE_OF_MANY_NS: i64 = 100_000_000;

pub struct ProcessRun {
    pub tree: Tree,
    pub phase: Phase,
    pub round: Option<u32>,
    pub launched_ns: i64,
    pub limit_ns: Option<i64>,
    pub limited: Option<Limited>,
    pub capture: Option<Capture>,
    pub interruption: Option<Interruption>,
    /// Nothing more is waited for.
    pub over: bool,
    /// Descendants that outlived the root process; absent: they were not looked for.
    pub outlived: Option<Vec<Relative>>,
    /// Whether they were killed at the end of their grace period.
    pub killed: bool,
    /// Counters of the worker's groups at the launch.
    pub before: Reading,
    pub followed: Option<Followed>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    Timeout,
    Excess(Excess),
    /// It only kept the load on, and is not needed any more.
    TailOver,
}

impl ProcessRun {
    pub fn launch(
        part: &mut WorkerTrial,
        entry: &Entry,
        script: &[u8],
        round: Option<u32>,
        executions: u32,
    ) -> Result<Self, String> {
        let mut capture = capture(part, entry)?;
        // One more than the iterations: the tail's.
        part.worker.block.prepare(script, executions as usize + 1)?;
        let limits = part.job.limits.filter(|_| entry.phase != Phase::Tail);
        let memory_bytes = limits.and_then(|limits| limits.memory_bytes);
        let before = part.worker.group.begin(memory_bytes);
        let limited =
            limits.map(|given| Limited::begin(given, &mut part.worker.group, before.cpu_ns));
        let null = part.worker.null.as_fd();
        let [output, error] = capture
            .as_ref()
            .map_or([null; 2], |capture| capture.writers(null));
        let surroundings = Surroundings {
            block: &part.worker.block,
            marker: part.marker(entry.iteration, entry.phase),
            meeting: part.meeting.as_ref(),
            round,
            streams: [null, output, error],
            group: part.worker.group.birth(),
        };
        let launched_ns = clock::monotonic();
        // The kernel lets us follow only what is open to us.
        let root = match part.observe {
            true => secrecy::suspended(|| part.program.launch(&surroundings)),
            false => part.program.launch(&surroundings),
        };
        let root = root.map_err(|error| {
            // Its limits shall not be those of the next.
            part.worker.group.limit([None, None]);
            format!("cannot make a process: {error}")
        })?;
        // It still waits at its gate.
        let followed = part.observe.then(|| Followed::new(root).ok()).flatten();
        part.worker.block.head().open_gate();
        if let Some(capture) = &mut capture {
            capture.launched();
        }
        let limit_ns = part.job.timeout_ns.filter(|_| entry.phase != Phase::Tail);
        let limit_ns = limit_ns.map(|limit| duration(limit).saturating_mul(i64::from(executions)));
        Ok(Self {
            tree: Tree::new(root),
            phase: entry.phase,
            round,
            launched_ns,
            limit_ns,
            limited,
            capture,
            interruption: None,
            over: false,
            outlived: None,
            killed: false,
            before,
            followed,
        })
    }

    /// Until root and descendants have ended, or had to be ended.
    pub fn wait(&mut self, part: &WorkerTrial) -> Result<(), Closed> {
        // What has ended and is still to be reaped is not told again.
        let mut more = false;
        while !self.tree.empty && !self.over {
            let files = [
                part.worker.signals.as_raw_fd(),
                part.worker.control.as_raw_fd(),
                self.capture.as_ref().map_or(-1, |c| c.output.readable()),
                self.capture.as_ref().map_or(-1, |c| c.error.readable()),
            ];
            let deadline = if more { Some(0) } else { self.next_look(part) };
            let [children, closed, ..] = watch::poll(files, deadline).map_err(|_| Closed)?;
            if children || more {
                while part.worker.signals.take().is_some() {}
                more = self.tree.reap(&part.worker.written).map_err(|_| Closed)?;
            }
            if let Some(capture) = &mut self.capture {
                capture.drain();
            }
            if closed {
                self.kill_all(part);
                return Err(Closed);
            }
            if !self.tree.empty {
                self.interrupt(part);
            }
        }
        Ok(())
    }

    /// When to look at it again, whatever happens.
    fn next_look(&self, part: &WorkerTrial) -> Option<i64> {
        let limited = self.limited.as_ref().map(Limited::next_ns);
        self.deadline(part).into_iter().chain(limited).min()
    }

    fn deadline(&self, part: &WorkerTrial) -> Option<i64> {
        if self.phase == Phase::Tail {
            return Some(clock::monotonic() + TAIL_TICK_NS);
        }
        match &self.tree.end {
            Some(end) => {
                let grace = duration(part.job.linger_ns);
                let first = self.outlived.is_none().then_some(STRAGGLER_NS);
                let wait = first.map_or(grace, |first| first.min(grace));
                Some(end.monotonic_ns.saturating_add(wait))
            }
            None => {
                let begun = part.worker.block.head().before.monotonic_ns.load(Acquire);
                let begun = begun.max(self.launched_ns);
                self.limit_ns.map(|limit| begun.saturating_add(limit))
            }
        }
    }

    /// Ends what has had its time.
    fn interrupt(&mut self, part: &WorkerTrial) {
        if self.phase == Phase::Tail {
            if !part.others_measure() {
                self.interruption = Some(Interruption::TailOver);
                self.kill_all(part);
            }
            return;
        }
        let capture = self.capture.as_ref();
        let excess = self
            .limited
            .as_mut()
            .and_then(|limited| limited.look(&part.worker.group, &self.tree, capture));
        if let Some(excess) = excess {
            self.interruption = Some(Interruption::Excess(excess));
            return self.kill_all(part);
        }
        if self
            .deadline(part)
            .is_none_or(|deadline| clock::monotonic() < deadline)
        {
            return;
        }
        if let Some(end) = &self.tree.end {
            let over = end
                .monotonic_ns
                .saturating_add(duration(part.job.linger_ns));
            self.outlived = Some(tree::descendants(std::process::id() as i32));
            self.killed = clock::monotonic() >= over;
            if !self.killed {
                return;
            }
        } else {
            self.interruption = Some(Interruption::Timeout);
        }
        self.kill_all(part);
    }

    /// Ends everything that is left, or gives up.
    fn kill_all(&mut self, part: &WorkerTrial) {
        let begun = clock::monotonic();
        let chase = match self.interruption {
            Some(Interruption::Excess(Excess::Processes)) => CHASE_OF_MANY_NS,
            _ => CHASE_NS,
        };
        let mut seen = Vec::new();
        while !self.tree.empty && clock::monotonic() < begun + KILL_NS {
            if !part.worker.group.kill() {
                let found = self.tree.kill();
                let new = found.iter().any(|pid| !seen.contains(pid));
                if part.worker.alone && new && clock::monotonic() > begun + chase {
                    tree::kill_everybody();
                }
                seen = found;
            }
            let tick = clock::monotonic() + TAIL_TICK_NS;
            let _ = watch::poll([part.worker.signals.as_raw_fd()], Some(tick));
            while part.worker.signals.take().is_some() {}
            while self.tree.reap(&part.worker.written).unwrap_or(false)
                && clock::monotonic() < begun + KILL_NS
            {}
        }
        self.over = true;
    }
}

/// As long as clocks can count, where more is asked for.
fn duration(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

fn capture(part: &WorkerTrial, entry: &Entry) -> Result<Option<Capture>, String> {
    let counted = part.job.limits.is_some_and(|l| l.output_bytes.is_some());
    let captured = part.captured.as_ref();
    captured
        .filter(|_| entry.phase != Phase::Tail)
        .map(|captured| captured.begin(counted))
        .transpose()
        .map_err(|error| format!("cannot keep the output: {error}"))
}
