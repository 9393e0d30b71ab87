//! How a probe describes itself, and one round of it.

use std::cell::RefCell;

use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use record::{Effort, Fault, FaultKind, Reading, Record};
use serde::Serialize;

/// A probe, as it describes itself.
#[derive(Serialize)]
pub struct Probe {
    /// `memory.latency`; its metrics begin with it.
    pub name: &'static str,
    /// One line: what it does.
    pub title: &'static str,
    /// What it is there to find out.
    pub question: &'static str,
    pub source: Option<&'static str>,
    pub metrics: &'static [Metric],
    pub seconds: Seconds,
    /// Whether a session has many rounds of it; otherwise one, in which it watches a course of
    /// time.
    pub repeats: bool,
    /// Without these it is not performed.
    pub needs: &'static [Need],
    /// Performs one round. What it cannot do here it tells by `Round::unavailable` or as the
    /// error, and the rest goes on.
    #[serde(skip)]
    pub perform: fn(&Round) -> Result<(), String>,
}

/// About how long one round takes; absent: not part of a fingerprint of that effort.
#[derive(Serialize)]
pub struct Seconds {
    pub brief: Option<f64>,
    pub quick: Option<f64>,
    pub whole: Option<f64>,
}

/// One quantity that a probe measures.
#[derive(Serialize)]
pub struct Metric {
    pub name: &'static str,
    /// `ns`, `bytes`, `B/s`, `Hz`, or `1` for ratios and counts.
    pub unit: &'static str,
    /// What it is, and how a round comes to its value: "least of windows".
    pub meaning: &'static str,
    /// Axes of a curve or map; none: a single figure.
    pub axes: &'static [Axis],
    /// Whether every point is a figure of its own: `call.int.3`. Otherwise it is a curve, of
    /// which the front tells what is worth a name.
    pub listed: bool,
    pub better: Better,
    /// Smallest relative change that matters to anybody.
    pub margin: f64,
}

#[derive(Serialize)]
pub struct Axis {
    pub name: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Lower,
    Higher,
    Neither,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// A directory for files.
    Directory,
    /// One on another machine's file system.
    Remote,
    /// Memory that files may fill: a control group, or the whole machine.
    FileCache,
    /// More than one CPU.
    SeveralCpus,
}

/// One round: what was asked, where it may work, and where its values go.
pub struct Round {
    pub job: record::Probe,
    /// CPUs that it may use, in the order in which the topology would spread workers.
    pub cpus: Vec<u32>,
    probe: &'static Probe,
    records: RefCell<Vec<Record>>,
}

impl Round {
    pub fn new(job: record::Probe, probe: &'static Probe, cpus: Vec<u32>) -> Self {
        Self {
            job,
            cpus,
            probe,
            records: RefCell::default(),
        }
    }

    /// The one CPU for what needs one: the last, since the first serves most interrupts.
    pub fn home(&self) -> u32 {
        *self.cpus.last().expect("a process has a CPU")
    }

    /// About how long the round is to take, in nanoseconds.
    pub fn budget_ns(&self) -> i64 {
        let seconds = &self.probe.seconds;
        let given = match self.job.effort {
            Effort::Brief => seconds.brief,
            Effort::Quick => seconds.quick,
            Effort::Whole => seconds.whole,
        };
        // A probe that is asked for by name is performed whatever the effort.
        let given = given.or(seconds.quick).or(seconds.whole).or(seconds.brief);
        (given.unwrap_or(1.0) * 1e9) as i64
    }

    /// A generator that every round seeds anew.
    pub fn random(&self) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(self.job.seed)
    }

    /// A single figure.
    pub fn read(&self, metric: &str, value: f64) {
        self.read_at(metric, &[], value);
    }

    /// A point of a curve or map. Not in a timed window: it allocates.
    pub fn read_at(&self, metric: &str, at: &[i64], value: f64) {
        debug_assert!(
            self.probe
                .metrics
                .iter()
                .any(|m| m.name == metric && m.axes.len() == at.len()),
            "{} does not list {metric} so",
            self.probe.name
        );
        if value.is_finite() {
            self.records.borrow_mut().push(Record::Reading(Reading {
                id: self.job.id,
                metric: metric.to_string(),
                at: at.to_vec(),
                value,
            }));
        }
    }

    /// Tells why something cannot be had here; for a person, with what would mend it.
    pub fn unavailable(&self, what: &str, why: impl std::fmt::Display) {
        self.records.borrow_mut().push(Record::Fault(Fault {
            id: self.job.id,
            trial: None,
            worker: None,
            iteration: None,
            kind: FaultKind::Unavailable,
            message: format!("{what}: {why}"),
            evidence: None,
            outlived: None,
        }));
    }

    /// Performs it and returns what it read.
    pub fn perform(self) -> Vec<Record> {
        if let Err(why) = (self.probe.perform)(&self) {
            self.unavailable(self.probe.name, why);
        }
        self.records.into_inner()
    }
}
