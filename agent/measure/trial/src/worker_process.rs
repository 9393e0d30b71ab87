//! The process of one worker: small, so that what it launches is not measured with its memory.
//!
//! It takes orders from the main process, one JSON object a line, and answers each with records
//! and an empty line. It says nothing while a trial runs.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use record::{Record, Trial};
use sys::descriptors;

use crate::instrument;
use crate::orders::Order;
use crate::perform::{perform, Outcome};
use crate::worker::{Closed, Worker};

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
    fn serve(&mut self) -> io::Result<()> {
        while let Some((line, memory)) = self.hear()? {
            let order: Order = serde_json::from_slice(&line)?;
            match order {
                Order::Perform { trial, index } => match perform(self, &trial, index, memory) {
                    Ok(outcome) => self.answer(&trial, index, &outcome)?,
                    Err(Closed) => return Ok(()),
                },
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
        let entries = self.samples.entries().iter();
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
