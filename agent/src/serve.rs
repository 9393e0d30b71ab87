//! The resident agent: performs trials in a platform until its standard input ends.

use std::io;
use std::process::ExitCode;

use crate::crew::{Crew, State};
use crate::record::{Fault, FaultKind, Job, Record, Trial};
use crate::stream::{refusal, Jobs, Records, STDIN};
use crate::watch;

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
    jobs: Jobs,
    records: Records,
    crew: Crew,
}

impl Resident {
    fn new(name: String) -> io::Result<Self> {
        Ok(Self {
            jobs: Jobs::default(),
            records: Records::new(),
            crew: Crew::new(name)?,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        self.records.greet()?;
        loop {
            match self.jobs.next() {
                Some(job) => self.perform(job)?,
                None if self.jobs.ended => return Ok(()),
                None => {
                    self.jobs.feed();
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
            Ok(Job::MeasureSelf { id }) => id,
            Ok(Job::Watch(crate::record::Watch { id, .. }) | Job::Collect { id, .. }) => {
                let why = "only an observer can watch: tare-agent observe".to_string();
                self.records.add(&refusal(id, why));
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

    /// Lets the workers do their parts; returns early when the jobs end meanwhile.
    fn conduct(&mut self, trial: &Trial) -> io::Result<()> {
        if let Err(error) = self.crew.muster(trial.workers.len()) {
            let why = format!("cannot start a worker: {error}");
            self.records.add(&refusal(trial.id, why));
            return Ok(());
        }
        self.crew.order(trial);
        loop {
            let members = self.crew.members();
            let mut files = vec![if self.jobs.ended { -1 } else { STDIN }];
            files.extend(members.iter().map(|member| member.readable()));
            if files[1..].iter().all(|file| *file < 0) {
                break;
            }
            let ready = watch::poll_all(&files, None)?;
            for (member, ready) in members.iter_mut().zip(&ready[1..]) {
                if *ready {
                    member.feed();
                }
            }
            if ready[0] {
                self.jobs.feed();
                if self.jobs.ended {
                    return Ok(());
                }
            }
        }
        self.gather(trial);
        Ok(())
    }

    fn gather(&mut self, trial: &Trial) {
        for (member, given) in self.crew.members().iter_mut().zip(&trial.workers) {
            self.records.relay(member.answer());
            if member.state == State::Dead {
                let how = member.last_words();
                self.records.add(&Record::Fault(Fault {
                    id: trial.id,
                    trial: Some(trial.trial),
                    worker: Some(given.worker),
                    iteration: None,
                    kind: FaultKind::Signal,
                    message: format!("the agent's own process for the worker ended: {how}"),
                    evidence: None,
                }));
            }
        }
    }
}
