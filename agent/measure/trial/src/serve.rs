//! The resident agent: performs trials in a platform until its standard input ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use launch::rendezvous;
use record::{Clocks, Fault, FaultKind, Job, Probe, Record, Trial, Value};
use stream::{refusal, Jobs, Records, STDIN};
use sys::cgroup::Leaf;
use sys::clock;
use sys::secrecy;
use sys::watch::{self, Signals};
use transfer::meet;

use crate::worker_pool::{State, WorkerPool};

/// Run `serve`.
pub fn run(name: String) -> ExitCode {
    match Resident::new(name).and_then(|mut resident| resident.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads any more: the same as an end of jobs.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tare-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Resident {
    /// Held until all workers are gone.
    _leaf: Option<Leaf>,
    signals: Signals,
    jobs: Jobs,
    records: Records,
    pool: WorkerPool,
    /// There may be children that have ended beyond those that were taken leave of.
    unreaped: bool,
}

impl Resident {
    fn new(name: String) -> io::Result<Self> {
        // SAFETY: a plain switch: what a worker that dies leaves behind comes to us.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        secrecy::keep();
        Ok(Self {
            _leaf: Leaf::make(&name),
            signals: Signals::new(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?,
            jobs: Jobs::default(),
            records: Records::default(),
            pool: WorkerPool::new(name)?,
            unreaped: false,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        self.records.greet()?;
        loop {
            match self.jobs.take_next() {
                Some(job) => self.perform(job)?,
                None if self.jobs.ended => return Ok(()),
                None => {
                    let files = [STDIN, self.signals.as_raw_fd()];
                    let ready = watch::poll(files, self.deadline(None))?;
                    self.hear(ready);
                }
            }
            if self.jobs.ended {
                return Ok(());
            }
        }
    }

    fn perform(&mut self, job: Result<Job, String>) -> io::Result<()> {
        let id = match job {
            Ok(Job::Trial(trial)) => {
                self.conduct(&trial)?;
                trial.id
            }
            Ok(Job::MeasureSelf { id }) => {
                self.introduce(id)?;
                id
            }
            Ok(
                Job::Watch(record::Watch { id, .. })
                | Job::Collect { id, .. }
                | Job::Load { id, .. },
            ) => {
                let why = "only an observer can watch: tare-agent observe".to_string();
                self.records.add(&refusal(id, why));
                id
            }
            Ok(Job::Probe(probe)) => {
                self.probe(&probe)?;
                probe.id
            }
            Ok(Job::ReadClocks { id }) => {
                self.records.add(&Record::Clocks(Clocks {
                    id,
                    monotonic_ns: clock::monotonic(),
                    realtime_ns: clock::realtime(),
                }));
                id
            }
            Ok(Job::MeetHost { id, host }) => {
                self.records.add(&met(id, &host));
                id
            }
            Err(why) => {
                self.records.add(&refusal(0, why));
                0
            }
        };
        if self.jobs.ended {
            return Ok(());
        }
        self.records.finish(id)
    }

    fn introduce(&mut self, id: u64) -> io::Result<()> {
        if self.has_workers(id, 1) {
            self.pool.introduce(id);
            self.listen()?;
            self.records.relay(self.pool.members()[0].answer());
        }
        Ok(())
    }

    /// Lets the workers do their parts.
    fn conduct(&mut self, trial: &Trial) -> io::Result<()> {
        if self.has_workers(trial.id, trial.workers.len()) {
            match trial
                .rendezvous
                .as_ref()
                .map(rendezvous::memory)
                .transpose()
            {
                Ok(memory) => {
                    self.pool.order(trial, memory.as_ref().map(AsFd::as_fd));
                    drop(memory);
                    self.listen()?;
                    self.gather(trial);
                }
                Err(error) => {
                    let why = format!("there is no memory in which workers meet: {error}");
                    self.records.add(&refusal(trial.id, why));
                }
            }
        }
        Ok(())
    }

    /// Performs one round of a probe.
    fn probe(&mut self, probe: &Probe) -> io::Result<()> {
        let deadline = clock::monotonic().saturating_add(probe.timeout_ns as i64);
        if let Err(error) = self.pool.begin(probe) {
            let why = format!("cannot start a process for {}: {error}", probe.name);
            self.records.add(&refusal(probe.id, why));
            return Ok(());
        }
        while self.pool.prober().state == State::Busy && clock::monotonic() < deadline {
            let files = [
                STDIN,
                self.signals.as_raw_fd(),
                self.pool.prober().readable(),
            ];
            let [input, signal, answer] = watch::poll(files, self.deadline(Some(deadline)))?;
            if answer {
                self.pool.prober().feed();
            }
            self.hear([input, signal]);
            if self.jobs.ended {
                return Ok(());
            }
        }
        let late = self.pool.prober().state == State::Busy;
        self.records.relay(self.pool.prober().answer());
        if let Some(how) = self.pool.dismiss() {
            let (kind, message) = if late {
                let seconds = probe.timeout_ns as f64 / 1e9;
                (
                    FaultKind::Timeout,
                    format!("not done after {seconds:.0} s, so it was ended"),
                )
            } else {
                (FaultKind::Signal, format!("its process ended: {how}"))
            };
            self.records.add(&Record::Fault(Fault {
                id: probe.id,
                trial: None,
                worker: None,
                iteration: None,
                kind,
                message: format!("{}: {message}", probe.name),
                evidence: None,
                outlived: None,
            }));
        }
        Ok(())
    }

    fn has_workers(&mut self, id: u64, count: usize) -> bool {
        // One may have ended since it answered.
        self.unreaped = self.pool.reap();
        let mustered = self.pool.muster(count);
        if let Err(error) = &mustered {
            let why = format!("cannot start a worker: {error}");
            self.records.add(&refusal(id, why));
        }
        mustered.is_ok()
    }

    /// Until all workers have answered, or the jobs have ended.
    fn listen(&mut self) -> io::Result<()> {
        loop {
            let deadline = self.deadline(None);
            let members = self.pool.members();
            let mut files = vec![STDIN, self.signals.as_raw_fd()];
            files.extend(members.iter().map(|member| member.readable()));
            if files[2..].iter().all(|file| *file < 0) {
                return Ok(());
            }
            let ready = watch::poll_all(&files, deadline)?;
            for (member, ready) in members.iter_mut().zip(&ready[2..]) {
                if *ready {
                    member.feed();
                }
            }
            self.hear([ready[0], ready[1]]);
            if self.jobs.ended {
                return Ok(());
            }
        }
    }

    /// Takes what has come on standard input; being asked to end is the end of all jobs.
    fn hear(&mut self, [input, signal]: [bool; 2]) {
        if input {
            self.jobs.feed();
        }
        match self.signals.take().filter(|_| signal) {
            Some(libc::SIGCHLD) => {
                self.pool.end_stopped();
                self.unreaped = self.pool.reap();
            }
            Some(_) => self.jobs.ended = true,
            None if self.unreaped => self.unreaped = self.pool.reap(),
            None => {}
        }
    }

    /// Until when to wait: of children that are still to be reaped no signal tells again.
    fn deadline(&self, given: Option<i64>) -> Option<i64> {
        if self.unreaped {
            Some(0)
        } else {
            given
        }
    }

    fn gather(&mut self, trial: &Trial) {
        for (number, given) in trial.workers.iter().enumerate() {
            self.records.relay(self.pool.members()[number].answer());
            if self.pool.members()[number].state == State::Dead {
                let how = self.pool.bury(number);
                self.records.add(&Record::Fault(Fault {
                    id: trial.id,
                    trial: Some(trial.trial),
                    worker: Some(given.worker),
                    iteration: None,
                    kind: FaultKind::Signal,
                    message: format!("the agent's own process for the worker ended: {how}"),
                    evidence: None,
                    outlived: None,
                }));
            }
        }
    }
}

/// Which address it has for a host of its network, with which it can speak in both directions.
fn met(id: u64, host: &str) -> Record {
    let reached = host
        .parse()
        .map_err(|_| format!("{host:?} is no address with a port"))
        .and_then(meet::reach);
    match reached {
        Ok(own) => {
            let own = Value::Text(own.to_string());
            stream::fact(id, "network_address", own, None, "getsockname")
        }
        Err(why) => refusal(id, why),
    }
}
