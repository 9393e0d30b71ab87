//! The observer: outside of all platforms, it has the kernel stamp what agents launch in them,
//! and reads the counters of the host.

mod host;
mod machine;
mod recorder;
mod tracker;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use record::{Job, Phase, Probe, Quantity, Record, Sample, Trial, Value, Watch};
use stream::{clocks, fact, refusal, Jobs, Records};
use sys::secrecy;

use host::Host;
use machine::Machine;
use recorder::Recorder;
use tracker::{Course, Shares};

/// Run `observe`; with `teardown`, also by the switches of every CPU.
pub fn run(teardown: bool) -> ExitCode {
    secrecy::keep();
    match Observer::new(teardown).serve() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("tare-agent: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

struct Observer {
    jobs: Jobs,
    records: Records,
    /// Or why the kernel does not let us.
    recorder: Result<Arc<Mutex<Recorder>>, String>,
    machine: Machine,
    watched: Option<(Host, machine::Watched)>,
    /// Whether the present trial's stretches are wanted.
    stretches: bool,
}

impl Observer {
    fn new(teardown: bool) -> Self {
        Self {
            jobs: Jobs::default(),
            records: Records::default(),
            recorder: Recorder::start(teardown),
            machine: Machine::of(Path::new("/proc"), Path::new("/sys")),
            watched: None,
            stretches: false,
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        self.records.greet()?;
        while !self.jobs.ended {
            self.jobs.feed();
            while let Some(job) = self.jobs.take_next() {
                let id = self.perform(job);
                self.records.finish(id)?;
            }
        }
        Ok(())
    }

    fn perform(&mut self, job: Result<Job, String>) -> u64 {
        match job {
            Ok(Job::MeasureSelf { id }) => {
                self.introduce(id);
                id
            }
            Ok(Job::Watch(watch)) => {
                self.watch(&watch);
                watch.id
            }
            Ok(Job::Collect { id, trial }) => {
                self.collect(id, trial);
                id
            }
            Ok(Job::Load { id, under_load }) => {
                self.load(under_load);
                id
            }
            Ok(
                Job::Trial(Trial { id, .. })
                | Job::Probe(Probe { id, .. })
                | Job::ReadClocks { id }
                | Job::MeetHost { id, .. },
            ) => {
                let why = "an observer launches nothing: tare-agent serve".to_string();
                self.records.add(&refusal(id, why));
                id
            }
            Err(why) => {
                self.records.add(&refusal(0, why));
                0
            }
        }
    }

    fn introduce(&mut self, id: u64) {
        for fact in clocks::facts(id) {
            self.records.add(&fact);
        }
        if let Err(why) = &self.recorder {
            let value = Value::Text(why.clone());
            let source = "perf_event_open";
            self.records
                .add(&fact(id, "observer_perf", value, None, source));
        }
    }

    fn watch(&mut self, watch: &Watch) {
        if let Ok(recorder) = &self.recorder {
            let mut recorder = recorder.lock().expect("the recorder does not panic");
            recorder.begin(watch.nonce, watch.groups.iter().map(|group| group.pid));
        }
        self.stretches = watch.stretches;
        self.watched = Some((Host::watch(watch), self.machine.watch()));
    }

    fn load(&mut self, begins: bool) {
        // What reading the counters takes is outside of the load.
        if let Some((host, _)) = self.watched.as_mut().filter(|_| !begins) {
            host.load(begins);
        }
        if let Ok(recorder) = &self.recorder {
            Recorder::load(recorder, begins);
        }
        if let Some((host, _)) = self.watched.as_mut().filter(|_| begins) {
            host.load(begins);
        }
    }

    fn collect(&mut self, id: u64, trial: u64) {
        // The counters first: reading the records takes the host's CPUs as well.
        if let Some((host, machine)) = self.watched.take() {
            let counted = self.machine.collect(machine).into_iter();
            for (worker, metric, source, value) in counted.chain(host.collect()) {
                let sample = sample(
                    id,
                    trial,
                    worker,
                    None,
                    Phase::Measured,
                    metric,
                    source,
                    value,
                );
                self.records.add(&sample);
            }
        }
        let Ok(recorder) = &self.recorder else {
            return;
        };
        let (courses, lost, switches, waits) = {
            let mut recorder = recorder.lock().expect("the recorder does not panic");
            let courses = recorder.collect(trial);
            let (switches, waits) = (recorder.knows_switches(), recorder.knows_waits());
            (courses, recorder.lost(), switches, waits)
        };
        if let Some(lost) = lost {
            // What is missing may be any start or end, so nothing of the trial is stamped.
            let lost = i64::try_from(lost).unwrap_or(i64::MAX);
            self.records.add(&sample(
                id,
                trial,
                None,
                None,
                Phase::Measured,
                "lost_records",
                "perf_buffer",
                lost,
            ));
            return;
        }
        for course in courses {
            self.tell(id, trial, &course, switches, waits);
        }
    }

    fn tell(&mut self, id: u64, trial: u64, course: &Course, switches: bool, waits: bool) {
        let (Some(start), Some(end)) = (course.start_ns, course.end_ns) else {
            return;
        };
        let marker = &course.marker;
        let shares = course.shares().filter(|_| switches);
        let figures = [
            ("wall_ns", "perf_cpu", Some(end - start)),
            (
                "wall_ns",
                "switch",
                course.gone_ns.map(|gone| gone.max(end) - start),
            ),
            ("start_ns", "perf_cpu", Some(start)),
            ("end_ns", "perf_cpu", Some(end)),
            (
                "tree_wall_ns",
                "perf_cpu",
                course.tree_end().map(|last| last - start),
            ),
            (
                "teardown_ns",
                "switch",
                course.gone_ns.map(|gone| (gone - end).max(0)),
            ),
        ];
        let spent = shares.map(spent).into_iter().flatten();
        let load = course.load.as_ref().filter(|_| switches);
        let load = load.map(|load| served(load, waits)).into_iter().flatten();
        let spent = spent.map(|(metric, value)| (metric, "perf_cpu", Some(value)));
        let worker = Some(marker.worker);
        let (iteration, phase) = (marker.iteration, marker.phase);
        let spent = spent.chain(load.map(|(metric, value)| (metric, "perf_cpu", value)));
        for (metric, source, value) in figures.into_iter().chain(spent) {
            let Some(value) = value else { continue };
            let sample = sample(id, trial, worker, iteration, phase, metric, source, value);
            self.records.add(&sample);
        }
        let wanted = shares.filter(|_| self.stretches);
        for (metric, value) in wanted.into_iter().flat_map(stretches) {
            let source = "perf_cpu";
            let sample = sample(id, trial, worker, iteration, phase, &metric, source, value);
            self.records.add(&sample);
        }
    }
}

/// The lengths of stretches of a tree's threads: a metric for each bucket that is not empty.
fn stretches(shares: &Shares) -> impl Iterator<Item = (String, i64)> + '_ {
    [
        ("on_cpu_stretches", &shares.on_cpu),
        ("off_cpu_preempted_stretches", &shares.off_preempted),
        ("off_cpu_blocked_stretches", &shares.off_blocked),
    ]
    .into_iter()
    .flat_map(|(name, lengths)| {
        let buckets = lengths.counted();
        buckets.map(move |(bucket, count)| (format!("{name}_{bucket}"), count))
    })
}

/// Where the time of a tree's threads went.
fn spent(shares: &Shares) -> [(&'static str, i64); 5] {
    [
        ("on_cpu_ns", shares.on_cpu_ns),
        ("off_cpu_preempted_ns", shares.preempted_ns),
        ("off_cpu_blocked_ns", shares.blocked_ns),
        ("switches_preempted", shares.preempted),
        ("switches_blocked", shares.blocked),
    ]
}

/// The same of services under load, and what they waited for where that is known.
fn served(load: &Shares, waits: bool) -> [(&'static str, Option<i64>); 5] {
    [
        ("service_cpu_ns", Some(load.on_cpu_ns)),
        ("service_preempted_ns", Some(load.preempted_ns)),
        ("service_blocked_ns", Some(load.blocked_ns)),
        ("service_disk_ns", waits.then_some(load.disk_ns)),
        ("service_network_ns", waits.then_some(load.network_ns)),
    ]
}

#[allow(clippy::too_many_arguments)] // a sample has as many fields
fn sample(
    id: u64,
    trial: u64,
    worker: Option<u32>,
    iteration: Option<u32>,
    phase: Phase,
    metric: &str,
    source: &str,
    value: i64,
) -> Record {
    Record::Sample(Sample {
        id,
        trial,
        worker,
        iteration,
        phase,
        metric: metric.to_string(),
        source: source.to_string(),
        value: Quantity::Integer(value),
    })
}
