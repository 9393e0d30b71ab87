//! A load generator for Cassandra, all of whose operations are recorded. Those of an open load start
//! at times that are computed beforehand, those of a closed load when a user's last one has ended.

mod arguments;
mod collections;
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
        Command::Collections(target) => {
            alone(database::logged_collections(&target)).map(|found| {
                // One number for both parts: it differs once the log has lost lines.
                let (ms, number) = found.oldest;
                println!("{{{},\"oldest_line\":{ms}{number:09}}}", found.json());
            })
        }
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
    let done = alone(drive::run(target, run))?;
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
