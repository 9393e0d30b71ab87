//! Programs that know their own truth: each does exactly one thing, and tells in the last line of
//! its standard output what that took by its own clocks, so that tare can be held against it.
//!
//! What a program cannot see is how it came to be. So it executes itself once more before it
//! begins: what that exec took, stamped on both sides, is what the one before it took as well.

mod allocate;
mod daemon;
mod exit;
mod fault;
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

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use stamp::{Stamp, WORDS};

/// How a program finds itself wherever it runs.
const ITSELF: &str = "/proc/self/exe";

/// More of anything would only overflow: minutes, gigabytes and steps are far below.
const MOST: i64 = 1_000_000_000_000;

/// A program, as its file describes it.
pub struct Truth {
    pub name: &'static str,
    /// What it does, so many times or for so long.
    pub title: &'static str,
    /// Of the number after its name.
    pub unit: &'static str,
    /// Whether it tells a truth at its end; otherwise that is known before.
    pub tells: bool,
    pub run: fn(&Opening, i64) -> Result<Never, String>,
}

/// Every program ends in its own way.
pub enum Never {}

/// Every program, in order of name.
const TRUTHS: &[&Truth] = &[
    &allocate::TRUTH,
    &daemon::TRUTH,
    &exit::TRUTH,
    &fault::TRUTH,
    &signal::TRUTH,
    &sleep::TRUTH,
    &spin::TRUTH,
    &switch::TRUTH,
    &teardown::TRUTH,
    &threads::TRUTH,
    &work::TRUTH,
    &write::TRUTH,
];

/// How a program came to be: what it stamped before and after it executed itself.
#[derive(Clone)]
pub struct Opening {
    /// In its first line; everything before it was the kernel's and the loader's.
    pub first: Stamp,
    /// Just before the second exec, and in the first line after it.
    before: Stamp,
    pub begun: Stamp,
}

/// `truth NAME NUMBER`: does the thing, or says what there is.
pub fn run() -> ExitCode {
    let now = Stamp::take();
    let words: Vec<String> = std::env::args().skip(2).collect();
    let Err(why) = begin(now, &words);
    eprintln!("tare-agent truth: {why}\n");
    for truth in TRUTHS {
        eprintln!("  {:<9} {:<7} {}", truth.name, truth.unit, truth.title);
    }
    ExitCode::from(2)
}

fn begin(now: Stamp, words: &[String]) -> Result<Never, String> {
    let [name, number, rest @ ..] = words else {
        return Err("which one, and how much of it?".to_string());
    };
    let truth = TRUTHS.iter().find(|truth| truth.name == name);
    let truth = truth.ok_or_else(|| format!("there is no {name:?}"))?;
    let number: i64 = number
        .parse()
        .ok()
        .filter(|n| (0..=MOST).contains(n))
        .ok_or_else(|| format!("{name} takes a number of {}, not {number:?}", truth.unit))?;
    if truth.tells && rest.is_empty() {
        return Err(again(now, words));
    }
    let stamps = Stamp::parse(rest).zip(Stamp::parse(rest.get(WORDS..).unwrap_or_default()));
    let (first, before) = stamps.unwrap_or_else(|| (now.clone(), now.clone()));
    let opening = Opening {
        first,
        before,
        begun: now,
    };
    (truth.run)(&opening, number)
}

/// Becomes itself once more; returns why it could not.
fn again(first: Stamp, words: &[String]) -> String {
    let mut command = Command::new(ITSELF);
    command.arg("truth").args(words).args(first.words());
    command.args(Stamp::take().words());
    format!("cannot execute {ITSELF}: {}", command.exec())
}

impl Opening {
    /// Ends the program with what it knows: values by tare's own name of the metric, with the
    /// source after a point where a source sees something else.
    pub fn tell(&self, own: &[(&str, i64)]) -> ! {
        let mut line = String::with_capacity(1024);
        let launch = self.begun.since(&self.before);
        let launch = [
            ("wall_ns", launch.wall_ns),
            ("cpu_ns", launch.cpu_ns),
            ("minor_faults", launch.minor_faults),
            ("voluntary_switches", launch.voluntary_switches),
        ];
        line.push_str("{\"own\":");
        object(&mut line, own);
        line.push_str(",\"launch\":");
        object(&mut line, &launch);
        line.push_str("}\n");
        let mut output = std::io::stdout().lock();
        let kept = output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush());
        // SAFETY: ends all threads; nothing is left to be written.
        unsafe { libc::_exit(i32::from(kept.is_err())) }
    }

    /// The same with the wall and CPU time from the first line until now.
    pub fn tell_until(&self, end: &Stamp, more: &[(&str, i64)]) -> ! {
        let used = end.since(&self.first);
        let times = [("wall_ns", used.wall_ns), ("cpu_ns", used.cpu_ns)];
        self.tell(&[&times, more].concat())
    }
}

fn object(line: &mut String, values: &[(&str, i64)]) {
    for (number, (name, value)) in values.iter().enumerate() {
        line.push_str(if number == 0 { "{\"" } else { ",\"" });
        line.push_str(name);
        line.push_str("\":");
        line.push_str(&value.to_string());
    }
    line.push_str(if values.is_empty() { "{}" } else { "}" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(TRUTHS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn what_is_told_is_json() {
        let mut line = String::new();
        object(&mut line, &[("wall_ns", 5), ("cpu_ns.rusage", -1)]);
        assert_eq!(line, r#"{"wall_ns":5,"cpu_ns.rusage":-1}"#);
        line.clear();
        object(&mut line, &[]);
        assert_eq!(line, "{}");
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
