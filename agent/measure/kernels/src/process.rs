//! The process in which a kernel runs: the agent's own binary, launched as any command is.
//!
//! It stamps itself first thing, makes its input, meets the other workers, times the kernel and
//! writes what it found into the block that it shares with its worker. A process that another
//! program starts, such as a sandbox, shares nothing: it gets the script as an argument, and prints
//! the times.

use std::ffi::OsString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use launch::inherited::BLOCK_FD;
use launch::rendezvous::Rendezvous;
use launch::script::{Meeting, Script};
use launch::shared_block::{SharedBlock, Slot, Stamp};
use sys::clock;

use crate::execution::{Execute, Wrong};
use crate::find;
use crate::window;

/// Run as a kernel's process.
pub fn run() -> ExitCode {
    let first = Moment::opening();
    let script = std::env::args_os().nth(3);
    let prints = script.is_some();
    // SAFETY: without a script, the worker that launched us put the block there.
    let block = script.map_or_else(
        || SharedBlock::of(unsafe { OwnedFd::from_raw_fd(BLOCK_FD) }).map_err(|e| e.to_string()),
        own_block,
    );
    let block = match block {
        Ok(block) => block,
        Err(error) => {
            eprintln!("tare-agent kernel is for the agent itself: no memory to work in ({error})");
            return ExitCode::from(2);
        }
    };
    first.note(&block.head().first);
    let outcome = told(&block);
    if let Err(complaint) = &outcome {
        block.complain(complaint);
    }
    Moment::closing().note(&block.head().last);
    match &outcome {
        Err(complaint) if prints => eprintln!("{complaint}"),
        Ok(()) if prints => println!("{}", times(&block)),
        _ => {}
    }
    ExitCode::from(u8::from(outcome.is_err()))
}

/// Makes a block for one execution, which no other process sees.
fn own_block(script: OsString) -> Result<SharedBlock, String> {
    let block = SharedBlock::new(1).map_err(|error| error.to_string())?;
    block.prepare(script.as_encoded_bytes(), 1)?;
    Ok(block)
}

/// Formats the times of the process and of its timed region as JSON, by metric.
fn times(block: &SharedBlock) -> serde_json::Value {
    let (head, slot) = (block.head(), block.slot(0));
    let process = Stamp::difference(&head.first, &head.last);
    let region = Stamp::difference(&slot.start, &slot.end);
    serde_json::json!({
        "wall_ns": process.map(|[wall, _, _]| wall),
        "cpu_ns": process.map(|[_, _, cpu]| cpu),
        "kernel_wall_ns": region.map(|[wall, _, _]| wall),
        "kernel_realtime_ns": region.map(|[_, realtime, _]| realtime),
        "kernel_cpu_ns": region.map(|[_, _, cpu]| cpu),
        "start_ns": slot.start.monotonic_ns.load(Acquire),
        "end_ns": slot.end.monotonic_ns.load(Acquire),
    })
}

/// Performs, and tells a wrong result from what prevented one.
fn told(block: &SharedBlock) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| perform(block)));
    outcome.unwrap_or_else(|unwound| match unwound.downcast::<Wrong>() {
        Ok(wrong) => {
            block.head().wrong.store(1, Release);
            Err(wrong.0)
        }
        Err(other) => resume_unwind(other),
    })
}

fn perform(block: &SharedBlock) -> Result<(), String> {
    let script: Script = serde_json::from_slice(&block.script())
        .map_err(|error| format!("the kernel's script is unreadable: {error}"))?;
    let kernel =
        find(&script.name).ok_or_else(|| format!("there is no kernel {:?}", script.name))?;
    if let Some(plan) = &script.window {
        let mut steps = kernel.steps(&script.parameters, script.seed)?;
        let meeting = script.meeting.as_ref().map(Meeting::join).transpose()?;
        window::perform(&mut *steps, plan, meeting.as_ref(), block);
        return Ok(());
    }
    let mut prepared = (kernel.prepare)(&script.parameters, script.seed)?;
    let meeting = script.meeting.as_ref().map(Meeting::join).transpose()?;
    let first_round = script.meeting.as_ref().and_then(|meeting| meeting.round);
    for execution in 0..script.executions {
        let round = first_round.map(|first| first + execution);
        if let (Some(meeting), Some(round)) = (&meeting, round) {
            meeting.meet(round);
        }
        let slot = block.slot(execution as usize);
        time(&mut *prepared, script.repetitions, slot);
        block.head().executions.store(execution + 1, Release);
        if let (Some(meeting), Some(round)) = (&meeting, round) {
            let skew = meeting.skew_ns(round).unwrap_or(-1);
            slot.skew_ns.store(skew, Relaxed);
        }
    }
    if let (Some(meeting), true) = (&meeting, script.meeting.is_some_and(|m| m.tail)) {
        keep_the_load_on(&mut *prepared, meeting, block, script.executions);
    }
    Ok(())
}

/// One timed region: nothing but the kernel between the stamps.
fn time(prepared: &mut dyn Execute, repetitions: u64, slot: &Slot) {
    let start = Moment::opening();
    let digest = prepared.execute(repetitions);
    let end = Moment::closing();
    slot.digest.store(digest as i64, Relaxed);
    if let Some(residual) = prepared.residual() {
        slot.residual.set(residual);
    }
    start.note(&slot.start);
    end.note(&slot.end);
}

/// Single executions, so that the end comes soon after the others'.
fn keep_the_load_on(
    prepared: &mut dyn Execute,
    meeting: &Rendezvous,
    block: &SharedBlock,
    slot: u32,
) {
    meeting.finish();
    let slot = block.slot(slot as usize);
    Moment::opening().note(&slot.start);
    while !meeting.all_finished() {
        slot.digest.store(prepared.execute(1) as i64, Relaxed);
    }
    Moment::closing().note(&slot.end);
}

/// A stamp of every clock: from an opening to a closing one, wall time contains CPU time.
struct Moment {
    monotonic_ns: i64,
    realtime_ns: i64,
    cpu_ns: i64,
}

impl Moment {
    fn opening() -> Self {
        let monotonic_ns = clock::monotonic();
        let realtime_ns = clock::realtime();
        Self {
            monotonic_ns,
            realtime_ns,
            cpu_ns: clock::process_cpu(),
        }
    }

    fn closing() -> Self {
        let cpu_ns = clock::process_cpu();
        let realtime_ns = clock::realtime();
        Self {
            monotonic_ns: clock::monotonic(),
            realtime_ns,
            cpu_ns,
        }
    }

    fn note(&self, stamp: &Stamp) {
        stamp.cpu_ns.store(self.cpu_ns, Relaxed);
        stamp.realtime_ns.store(self.realtime_ns, Relaxed);
        // A reader takes the stamp for complete once it sees this.
        stamp.monotonic_ns.store(self.monotonic_ns, Release);
    }
}
