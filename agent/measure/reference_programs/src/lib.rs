//! Programs that know their own truth: each does exactly one thing, and tells in the last line of
//! its standard output what that took by its own clocks, so that tare can be held against it.
//!
//! What a program cannot see is how it came to be. So it executes itself once more before it
//! begins: what that exec took, stamped on both sides, is what the one before it took as well.

mod allocate;
mod daemon;
mod exit;
mod fault;
mod program;
mod signal;
mod sleep;
mod spin;
mod stamp;
mod switch;
mod teardown;
mod threads;
mod touch;
mod work;
mod write;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use program::{Never, Opening, Program};
use stamp::{Stamp, WORDS};

/// How a program finds itself wherever it runs.
const ITSELF: &str = "/proc/self/exe";

/// More of anything would only overflow: minutes, gigabytes and steps are far below.
const MOST: i64 = 1_000_000_000_000;

/// Every program, in order of name.
const PROGRAMS: &[&Program] = &[
    &allocate::PROGRAM,
    &daemon::PROGRAM,
    &exit::PROGRAM,
    &fault::PROGRAM,
    &signal::PROGRAM,
    &sleep::PROGRAM,
    &spin::PROGRAM,
    &switch::PROGRAM,
    &teardown::PROGRAM,
    &threads::PROGRAM,
    &work::PROGRAM,
    &write::PROGRAM,
];

/// `truth NAME NUMBER`: does the thing, or says what there is.
pub fn run() -> ExitCode {
    let now = Stamp::take();
    let words: Vec<String> = std::env::args().skip(2).collect();
    let Err(why) = begin(now, &words);
    eprintln!("tare-agent truth: {why}\n");
    for program in PROGRAMS {
        eprintln!(
            "  {:<9} {:<7} {}",
            program.name, program.unit, program.title
        );
    }
    ExitCode::from(2)
}

fn begin(now: Stamp, words: &[String]) -> Result<Never, String> {
    let [name, number, rest @ ..] = words else {
        return Err("which one, and how much of it?".to_string());
    };
    let program = PROGRAMS.iter().find(|program| program.name == name);
    let program = program.ok_or_else(|| format!("there is no {name:?}"))?;
    let number: i64 = number
        .parse()
        .ok()
        .filter(|n| (0..=MOST).contains(n))
        .ok_or_else(|| format!("{name} takes a number of {}, not {number:?}", program.unit))?;
    if program.tells && rest.is_empty() {
        return Err(again(now, words));
    }
    let stamps = Stamp::parse(rest).zip(Stamp::parse(rest.get(WORDS..).unwrap_or_default()));
    let (first, before) = stamps.unwrap_or_else(|| (now.clone(), now.clone()));
    let opening = Opening {
        first,
        before,
        begun: now,
    };
    (program.run)(&opening, number)
}

/// Becomes itself once more; returns why it could not.
fn again(first: Stamp, words: &[String]) -> String {
    let mut command = Command::new(ITSELF);
    command.arg("truth").args(words).args(first.words());
    command.args(Stamp::take().words());
    format!("cannot execute {ITSELF}: {}", command.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(PROGRAMS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn stamps_survive_the_exec() {
        let one = Stamp::take();
        let words: Vec<String> = one.words().collect();
        assert_eq!(words.len(), WORDS);
        assert_eq!(Stamp::parse(&words), Some(one));
        assert_eq!(Stamp::parse(&words[1..]), None);
    }
}
