//! A load generator for Cassandra: operations start at times that are computed beforehand,
//! whatever became of the earlier ones, and all of them are recorded.

mod arguments;
mod database;
mod drive;
mod requests;
mod schedule;
mod timer;

use std::future::Future;
use std::process::ExitCode;

use arguments::{Command, Run, USAGE};

fn main() -> ExitCode {
    let done = arguments::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Help => {
            print!("{USAGE}");
            Ok(())
        }
        Command::Version => {
            println!("tare-cql {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        Command::Load(target, keys) => alone(database::load(&target, keys)),
        Command::Run(target, run) => measure(&target, &run),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tare-cql: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(target: &database::Target, run: &Run) -> Result<(), String> {
    let operations = schedule::compute(&run.load, run.seed)?;
    let before = schedule::before(&run.load, run.seed, run.warm_up_s)?;
    let done = alone(drive::run(target, run, &before, &operations))?;
    requests::write(&run.out, &done.requests)?;
    if let Some(first) = &done.first_error {
        let failed = done.errors();
        let all = done.requests.len();
        eprintln!("tare-cql: {failed} of {all} operations failed; the first: {first}");
    }
    println!("{}", done.summary());
    Ok(())
}

/// Runs to its end on this thread: a second one would take CPU from what is measured.
fn alone<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?
        .block_on(work)
}
