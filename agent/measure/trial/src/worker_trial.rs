//! One worker in one trial, and what it says of itself.

use std::os::fd::OwnedFd;

use launch::failure;
use launch::rendezvous::Rendezvous;
use launch::script::{Meeting, Script};
use launch::shared_block::SharedBlock;
use launch::{Image, Program};
use record::marker::{self, Marker};
use record::{Capture, Fault, FaultKind, Outlived, Phase, Process, Record, Trial, Workload};
use sys::perf::{Event, Target};
use sys::tree::Status;

use crate::capture::Captured;
use crate::perf_task;
use crate::sample_buffer::SampleBuffer;
use crate::worker::Worker;

/// Tail iterations that are noted; there may be more.
const TAIL_ENTRIES: usize = 10_000;
/// The same of iterations in a window.
pub const LAUNCHES: usize = 1000;

/// One worker in one trial.
pub struct WorkerTrial<'a> {
    pub worker: &'a mut Worker,
    pub job: &'a Trial,
    pub number: u32,
    pub program: Program,
    pub meeting: Option<Rendezvous>,
    /// What its processes write, where that is wanted.
    pub captured: Option<Captured>,
    /// Follow what is launched by events of its own.
    pub observe: bool,
    pub faults: Vec<Record>,
    /// Number of the first iteration that is not needed, where that is not known beforehand.
    pub next: u32,
}

impl<'a> WorkerTrial<'a> {
    pub fn new(
        worker: &'a mut Worker,
        job: &'a Trial,
        index: usize,
        memory: Option<OwnedFd>,
    ) -> Result<Self, String> {
        let given = &job.workers[index];
        check(job)?;
        let iterations = job.warmup.saturating_add(job.iterations) as usize;
        if iterations >= marker::ITERATIONS as usize {
            return Err(format!(
                "{iterations} iterations are more than a trial can have"
            ));
        }
        // First of all, so that whatever goes wrong, the others need not wait.
        let meeting = job.rendezvous.as_ref();
        let meeting = meeting
            .map(|meeting| {
                let memory = memory.ok_or("the meeting has no memory")?;
                Rendezvous::join(memory, given.worker, meeting.parties)
            })
            .transpose()?;
        let program = program(worker, job, given.cpus.as_deref()).inspect_err(|_| {
            if let Some(meeting) = &meeting {
                meeting.leave();
            }
        })?;
        let part = Self {
            worker,
            job,
            number: given.worker,
            program,
            meeting,
            captured: captured(job)?,
            observe: job.observe,
            faults: Vec::new(),
            next: 0,
        };
        part.make_room(iterations).map(Self::prepare_to_observe)
    }

    fn prepare_to_observe(mut self) -> Self {
        if !self.observe {
            return self;
        }
        // The first event in the system makes the kernel patch itself, which takes milliseconds:
        // one that stays open spares every launch that.
        let worker = &mut *self.worker;
        let own = || Event::open(Target::Task { pid: 0, cpu: 0 }, 1).ok();
        worker.patched = worker.patched.take().or_else(own);
        if let Some(why) = perf_task::hidden(&self.program, self.job.user.as_ref()) {
            self.observe = false;
            if self.worker.warned.as_ref() != Some(&why) {
                let message = format!("{why}: its wall time is taken around it, not by the kernel");
                self.fault(None, FaultKind::Warning, message, None);
                self.worker.warned = Some(why);
            }
        }
        self
    }

    fn make_room(self, iterations: usize) -> Result<Self, String> {
        let iterations = match (&self.job.window, &self.job.workload) {
            (Some(_), Workload::Command { .. }) => LAUNCHES,
            _ => iterations,
        };
        let slots = match self.job.process {
            Process::Fresh => 1,
            Process::Same => iterations + 1,
        };
        let tail = if self.meeting.is_some() {
            TAIL_ENTRIES
        } else {
            1
        };
        let entries = iterations + tail;
        let short = |error| format!("no memory for {iterations} iterations: {error}");
        if self.worker.block.slots() < slots {
            self.worker.block = SharedBlock::new(slots).map_err(short)?;
        }
        if self.worker.samples.capacity() < entries {
            self.worker.samples = SampleBuffer::new(entries).map_err(short)?;
        }
        Ok(self)
    }
}

impl WorkerTrial<'_> {
    /// What is launched, as a message calls it.
    pub fn subject(&self) -> String {
        match &self.job.workload {
            Workload::Kernel { name, .. } => format!("kernel {name}"),
            Workload::Command { argv, .. } => argv.first().cloned().unwrap_or_default(),
        }
    }

    /// Whether an end that is not 0 is nothing but the program's way to say something.
    pub fn is_ignored(&self, status: Status) -> bool {
        let Workload::Command {
            ignored_exits: Some(codes),
            ..
        } = &self.job.workload
        else {
            return false;
        };
        match status {
            Status::Exited(code) => codes.is_empty() || codes.contains(&code),
            Status::Killed(_) => codes.is_empty(),
        }
    }

    pub fn launch_failure(&self) -> Option<String> {
        failure::told(self.worker.block.head(), &self.program, &self.subject())
    }

    /// What a kernel's process is told; empty for a command.
    pub fn script(&self, executions: u32, round: Option<u32>, tail: bool) -> Vec<u8> {
        let Workload::Kernel {
            name,
            parameters,
            repetitions,
            seed,
        } = &self.job.workload
        else {
            return Vec::new();
        };
        let script = Script {
            name: name.clone(),
            parameters: parameters.clone(),
            repetitions: *repetitions,
            seed: *seed,
            executions,
            window: self.job.window,
            meeting: self.meeting.as_ref().map(|meeting| Meeting {
                party: meeting.party(),
                parties: meeting.parties(),
                round,
                tail,
            }),
        };
        serde_json::to_vec(&script).expect("a script is JSON")
    }

    pub fn marker(&self, iteration: Option<u32>, phase: Phase) -> [u8; 16] {
        let marker = Marker {
            nonce: self.job.nonce,
            trial: self.job.trial as u32,
            worker: self.number,
            iteration,
            phase,
        };
        marker.name()
    }

    pub fn others_measure(&self) -> bool {
        self.meeting
            .as_ref()
            .is_some_and(|meeting| !meeting.all_finished())
    }

    /// Says that something went wrong.
    pub fn fault(
        &mut self,
        iteration: Option<u32>,
        kind: FaultKind,
        message: String,
        evidence: Option<String>,
    ) {
        let fault = fault(self.job, self.number, iteration, kind, message, evidence);
        self.faults.push(Record::Fault(fault));
    }

    /// Warns of processes that outlived the command.
    pub fn outlived(&mut self, iteration: Option<u32>, message: String, outlived: Outlived) {
        let kind = FaultKind::Warning;
        let mut fault = fault(self.job, self.number, iteration, kind, message, None);
        fault.outlived = Some(outlived);
        self.faults.push(Record::Fault(fault));
    }
}

/// A window takes the place of iterations.
fn check(job: &Trial) -> Result<(), String> {
    let Some(window) = &job.window else {
        return Ok(());
    };
    if window.periods == 0 || window.period_ns == 0 {
        return Err("a window has at least one period, which takes time".to_string());
    }
    if (job.iterations, job.warmup, job.process) != (1, 0, Process::Fresh) {
        return Err("a window is one iteration in a fresh process, without warm-up".to_string());
    }
    Ok(())
}

fn program(worker: &Worker, job: &Trial, cpus: Option<&[u32]>) -> Result<Program, String> {
    let nothing = Default::default();
    let program = match &job.workload {
        Workload::Kernel { name, .. } => {
            let binary = worker.binary.try_clone();
            let image = Image::Own(binary.map_err(|error| error.to_string())?);
            Program::new(image, ["tare-agent", "kernel", name], &nothing)?
        }
        Workload::Command {
            argv,
            environment,
            directory,
            input,
            ..
        } => {
            let command = argv.first().ok_or("the command is empty")?;
            let image = launch::candidates(command, environment)?;
            let arguments = argv.iter().map(String::as_str);
            Program::new(image, arguments, environment)?
                .reading(input.as_deref())?
                .within(directory.as_deref())?
        }
    };
    let most = job.limits.and_then(|limits| limits.output_bytes);
    let held = job
        .limits
        .is_some_and(|limits| limits.memory_bytes.is_some());
    let program = program.on(cpus).run_by(job.user.as_ref());
    Ok(program.writing(most).first_victim(held))
}

fn captured(job: &Trial) -> Result<Option<Captured>, String> {
    // Output is counted by reading it.
    let counted = job.limits.and_then(|limits| limits.output_bytes);
    let counted = counted.map(|_| Capture {
        limit_bytes: 0,
        reads_output: true,
    });
    match &job.workload {
        Workload::Command { capture, .. } => capture
            .or(counted)
            .as_ref()
            .map(Captured::new)
            .transpose()
            .map_err(|error| format!("cannot keep the output: {error}")),
        Workload::Kernel { .. } => Ok(None),
    }
}

/// A fault of a trial's worker.
pub fn fault(
    job: &Trial,
    worker: u32,
    iteration: Option<u32>,
    kind: FaultKind,
    message: String,
    evidence: Option<String>,
) -> Fault {
    Fault {
        id: job.id,
        trial: Some(job.trial),
        worker: Some(worker),
        iteration,
        kind,
        message,
        evidence,
        outlived: None,
    }
}
