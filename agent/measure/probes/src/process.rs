//! The process of one round: it takes the job from its main process, answers with readings and
//! an empty line, and ends. What a probe breaks in it (memory, affinity, its life) ends with it.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use launch::inherited::CONTROL_FD;
use record::{self, Record};
use stream::refusal;
use sys::topology;

use crate::affinity::pin_to;
use crate::find;
use crate::probe::Round;

/// Run as the process of a round.
pub fn run() -> ExitCode {
    // What the main process blocks would be blocked here and in everything that a probe starts.
    sys::signals::as_by_default([]);
    // SAFETY: the descriptor is there for us; plain switches.
    let control = unsafe {
        libc::fcntl(CONTROL_FD, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Where files may not be as long as a probe would have them, that is an error it can tell.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        UnixStream::from_raw_fd(CONTROL_FD)
    };
    match answer(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tare-agent probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer(control: UnixStream) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(control.try_clone()?).read_line(&mut line)?;
    let job: record::Probe = serde_json::from_str(&line)?;
    let mut text = Vec::new();
    for record in perform(job) {
        serde_json::to_writer(&mut text, &record)?;
        text.push(b'\n');
    }
    text.push(b'\n');
    (&control).write_all(&text)
}

fn perform(job: record::Probe) -> Vec<Record> {
    let id = job.id;
    let Some(probe) = find(&job.name) else {
        let why = format!("there is no probe {:?}: tare describe probes", job.name);
        return vec![refusal(id, why)];
    };
    if let Some(Err(why)) = job.cpus.as_deref().map(pin_to) {
        return vec![refusal(id, why)];
    }
    match topology::usable() {
        Ok(cpus) => Round::new(job, probe, cpus).perform(),
        Err(why) => vec![refusal(id, why)],
    }
}
