//! `supervise`: what a trial of an application that serves executes in its instance.
//!
//! It resets what services left of the trial before, starts them, reports to the front that they
//! are ready, and ends them when the front says so. If one of them ends by itself, all do.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use record::services::{ServicesReport, Supervision};

use crate::control::Control;
use crate::service::{complete, Running};

/// How often it is looked whether a service has ended while they serve: rarely, as it takes CPU
/// time from them.
const SERVING_TICK: Duration = Duration::from_millis(100);

/// Run `supervise` with its specification and the key of whom it reports to.
pub fn run(specification: &str, key: &str) -> ExitCode {
    let fail = |why: &str| {
        eprintln!("tare-agent: {why}");
        ExitCode::FAILURE
    };
    sys::secrecy::keep();
    let supervision: Supervision = match serde_json::from_str(specification) {
        Ok(supervision) => supervision,
        Err(error) => return fail(&format!("cannot read what to supervise: {error}")),
    };
    let mut control = match Control::connect(&supervision.control, key) {
        Ok(control) => control,
        Err(why) => return fail(&why),
    };
    match supervise(&supervision, &mut control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let who = failure.service.as_deref().unwrap_or("reset");
            fail(&format!("{who} {}\n{}", failure.what, failure.log))
        }
    }
}

struct Failure {
    /// None: a command of `reset`.
    service: Option<String>,
    what: String,
    log: String,
}

fn supervise(supervision: &Supervision, control: &mut Control) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_nanos(supervision.reset_ns);
    for words in &supervision.reset {
        let done = complete(words, deadline).map_err(|(what, log)| Failure {
            service: None,
            what: format!("{}: {what}", words.join(" ")),
            log,
        });
        reported(done, control)?;
    }
    control.report(&ServicesReport::ServicesReset);
    let mut running = Vec::new();
    let outcome = serve(supervision, control, &mut running);
    let mut killed = Vec::new();
    for service in running.iter_mut().rev() {
        if !service.stop() {
            killed.push(service.service.name.clone());
        }
        if supervision.copy_bytes > 0 {
            service.log.settle();
        }
    }
    let outcome = reported(outcome, control);
    control.report(&ServicesReport::ServicesEnded { killed });
    outcome
}

fn reported(outcome: Result<(), Failure>, control: &mut Control) -> Result<(), Failure> {
    if let Err(failure) = &outcome {
        control.report(&ServicesReport::ServicesFailed {
            service: failure.service.clone(),
            what: failure.what.clone(),
            log: failure.log.clone(),
        });
    }
    outcome
}

fn serve<'a>(
    supervision: &'a Supervision,
    control: &mut Control,
    running: &mut Vec<Running<'a>>,
) -> Result<(), Failure> {
    let began = Instant::now();
    let mut after_ns = Vec::new();
    for service in &supervision.services {
        let started = Running::start(service, supervision.copy_bytes).map_err(|what| Failure {
            service: Some(service.name.clone()),
            what,
            log: String::new(),
        })?;
        running.push(started);
        let over = || control.over(Duration::ZERO);
        if let Err(what) = running.last_mut().expect("just added").wait(over) {
            // Of several, the first that has ended is the reason.
            return Err(first_ended(running).unwrap_or_else(|| {
                let last = running.last().expect("just added");
                failure(last, what)
            }));
        }
        after_ns.push(began.elapsed().as_nanos() as u64);
    }
    control.report(&ServicesReport::ServicesReady { after_ns });
    while !control.over(SERVING_TICK) {
        if let Some(ended) = first_ended(running) {
            return Err(ended);
        }
    }
    // One that has ended meanwhile did not serve to the end.
    first_ended(running).map_or(Ok(()), Err)
}

fn first_ended(running: &mut [Running]) -> Option<Failure> {
    running.iter_mut().find_map(|one| {
        let how = one.ended()?;
        Some(failure(one, how))
    })
}

fn failure(of: &Running, what: String) -> Failure {
    Failure {
        service: Some(of.service.name.clone()),
        what,
        log: of.log.last(),
    }
}
