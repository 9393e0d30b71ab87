//! The process of one worker: small, so that what it launches is not measured with its memory.
//!
//! It takes orders from the main process, one JSON object a line, and answers each with records
//! and an empty line. It says nothing while a trial runs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::cgroup::{self, Group};
use crate::descriptors;
use crate::instrument;
use crate::ledger::Ledger;
use crate::page::Page;
use crate::perf::Event;
use crate::record::{Record, Trial};
use crate::secrecy;
use crate::trial::{self, Outcome};
use crate::watch::Signals;

/// Descriptors at which a worker finds its main process and the agent's binary.
pub const CONTROL_FD: RawFd = 3;
pub const BINARY_FD: RawFd = 4;

/// What the main process asks of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Perform the part of a trial's worker with this index.
    Perform { trial: Box<Trial>, index: usize },
    /// Tell what this worker can do and what it costs.
    Introduce { id: u64 },
}

/// The main process is gone, or wants the worker to be.
#[derive(Debug)]
pub struct Closed;

/// What a worker keeps from trial to trial.
pub struct Worker {
    pub control: UnixStream,
    pub binary: OwnedFd,
    pub signals: Signals,
    pub page: Page,
    pub ledger: Ledger,
    pub null: File,
    pub group: Group,
    /// Beside its main process, the first of all, nobody is here but what workers launch.
    pub alone: bool,
    /// An event that keeps the kernel ready for more.
    pub patched: Option<Event>,
    /// The last warning that is not to be repeated.
    pub warned: Option<String>,
}

/// Run as a worker's process.
pub fn run(name: &str, number: u32, alone: bool) -> ExitCode {
    match Worker::settle(name, number, alone).and_then(|mut worker| worker.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tare-agent worker: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Worker {
    fn settle(name: &str, number: u32, alone: bool) -> io::Result<Self> {
        // SAFETY: a plain switch: descendants that lose their parent become our children.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        secrecy::keep();
        Ok(Self {
            control: UnixStream::from(inherited(CONTROL_FD)?),
            binary: inherited(BINARY_FD)?,
            // Those that ask it to end are its main process's to follow, which then says so.
            signals: Signals::new(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?,
            page: Page::new(1)?,
            ledger: Ledger::new(1)?,
            null: File::options().read(true).write(true).open("/dev/null")?,
            group: Group::make(name, &cgroup::of_worker(name, number)),
            alone,
            patched: None,
            warned: None,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        while let Some((line, memory)) = self.hear()? {
            let order: Order = serde_json::from_slice(&line)?;
            match order {
                Order::Perform { trial, index } => {
                    match trial::perform(self, &trial, index, memory) {
                        Ok(outcome) => self.answer(&trial, index, &outcome)?,
                        Err(Closed) => return Ok(()),
                    }
                }
                Order::Introduce { id } => {
                    let facts = instrument::introduce(self, id);
                    self.send(facts.into_iter())?;
                }
            }
            // What is free here would be copied into what is launched, and count as its memory.
            // SAFETY: gives free memory back.
            unsafe {
                libc::malloc_trim(0);
            }
        }
        Ok(())
    }

    /// The next order, with the memory of a meeting where it has one; none: there are no more.
    fn hear(&self) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
        let (mut line, mut memory) = (Vec::new(), None);
        let mut chunk = [0; 8192];
        // An order is answered before the next one comes, so that nothing follows its end.
        while !line.ends_with(b"\n") {
            let (length, file) = descriptors::receive(&self.control, &mut chunk)?;
            if length == 0 {
                return Ok(None);
            }
            line.extend_from_slice(&chunk[..length]);
            memory = memory.or(file);
        }
        Ok(Some((line, memory)))
    }

    fn answer(&mut self, trial: &Trial, index: usize, outcome: &Outcome) -> io::Result<()> {
        let worker = trial.workers[index].worker;
        let entries = self.ledger.entries().iter();
        let samples = entries.flat_map(|entry| entry.samples(trial.id, trial.trial, worker));
        let captured = outcome.captured.iter();
        let output = captured.flat_map(|captured| captured.records(trial, worker));
        self.send(samples.chain(outcome.faults.iter().cloned()).chain(output))
    }

    fn send(&self, records: impl Iterator<Item = Record>) -> io::Result<()> {
        let mut text = Vec::with_capacity(1 << 14);
        for record in records {
            serde_json::to_writer(&mut text, &record)?;
            text.push(b'\n');
            if text.len() > 1 << 14 {
                (&self.control).write_all(&text)?;
                text.clear();
            }
        }
        text.push(b'\n');
        (&self.control).write_all(&text)
    }
}

/// An inherited descriptor, moved out of the way of what children get and closed on exec.
fn inherited(file: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the main process put it there; the copy is new.
    unsafe {
        match libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 10) {
            -1 => Err(io::Error::last_os_error()),
            moved => {
                libc::close(file);
                Ok(OwnedFd::from_raw_fd(moved))
            }
        }
    }
}
