//! One service: started, looked at, ended.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use record::services::Service;
use sys::{signals, tree};

use crate::log::{LineCopy, Log};
use crate::readiness::Readiness;

/// How often it is asked whether something is so that nothing reports by itself.
pub const TICK: Duration = Duration::from_millis(5);
/// The same of commands, which cost more.
const COMMAND_TICK: Duration = Duration::from_millis(50);

pub struct Running<'a> {
    pub service: &'a Service,
    pub log: Log,
    readiness: Readiness,
    child: Child,
}

impl<'a> Running<'a> {
    /// Starts it; whoever has its port already is found before.
    pub fn start(service: &'a Service, copy_bytes: u64) -> Result<Self, String> {
        let (readiness, pattern) = Readiness::new(&service.ready)?;
        if let Some(address) = readiness.taken() {
            return Err(format!(
                "{address} is taken: something accepts connections there before it has started"
            ));
        }
        let copy = LineCopy::new(&service.name, copy_bytes);
        let (log, child) = launched(&service.command, pattern, copy, |command| {
            command.envs(&service.environment);
        })?;
        Ok(Self {
            service,
            log,
            readiness,
            child,
        })
    }

    /// Waits until it is ready; `interrupted` ends the wait.
    pub fn wait(&mut self, mut interrupted: impl FnMut() -> bool) -> Result<(), String> {
        let limit = Duration::from_nanos(self.service.ready_ns);
        let deadline = Instant::now() + limit;
        let tick = match self.readiness {
            Readiness::Command(_) => COMMAND_TICK,
            _ => TICK,
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let seen = self.readiness.check(&self.log, left);
            // What has ended is not ready, whoever answers.
            if let Some(how) = self.ended() {
                return Err(how);
            }
            match seen {
                Ok(()) => return Ok(()),
                Err(_) if interrupted() => return Err("nobody waits for it any more".to_string()),
                Err(seen) if Instant::now() > deadline => {
                    let limit = limit.as_secs_f64();
                    let instead = self.readiness.elsewhere();
                    let instead = instead.map_or(String::new(), |found| format!("; {found}"));
                    return Err(format!("is not ready after {limit} s: {seen}{instead}"));
                }
                Err(_) => thread::sleep(tick),
            }
        }
    }

    /// How it ended, where it has.
    pub fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(ending(status)),
            Err(error) => Some(format!("cannot be waited for: {error}")),
        }
    }

    /// Asks it to end, and ends it after a while; whether it did so itself.
    pub fn stop(&mut self) -> bool {
        let mut itself = true;
        let deadline = Instant::now() + Duration::from_nanos(self.service.stop_ns);
        self.signal(self.service.stop_signal);
        while self.ended().is_none() {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                itself = false;
                break;
            }
            thread::sleep(TICK);
        }
        // What it has left behind, such as processes that serve for it.
        let group = -(self.child.id() as libc::pid_t);
        // SAFETY: a plain system call; the number stays taken as long as the group has members.
        unsafe { libc::kill(group, libc::SIGKILL) };
        itself
    }

    fn signal(&mut self, signal: i32) {
        if self.ended().is_none() {
            // SAFETY: a plain system call; it has not been waited for.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        }
    }
}

/// Runs a command to its end, in a group of its own; what it wrote last, where it fails.
pub fn complete(words: &[String], deadline: Instant) -> Result<(), (String, String)> {
    let (log, mut child) =
        launched(words, None, None, |_| ()).map_err(|why| (why, String::new()))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err((ending(status), log.last())),
            Ok(None) if Instant::now() < deadline => thread::sleep(TICK),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(("has not ended in time".to_string(), log.last()));
            }
            Err(error) => return Err((error.to_string(), log.last())),
        }
    }
}

fn launched(
    words: &[String],
    pattern: Option<regex_lite::Regex>,
    copy: Option<LineCopy>,
    change: impl FnOnce(&mut Command),
) -> Result<(Log, Child), String> {
    let (program, rest) = words.split_first().ok_or("a command without words")?;
    let start = || -> io::Result<_> {
        let (log, writer) = Log::pipe(pattern, copy)?;
        let mut command = Command::new(program);
        command
            .args(rest)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        change(&mut command);
        // A script or nohup may have this ignore signals; what is asked to end by one is not to.
        let settle = || {
            signals::as_by_default(1..=libc::SIGSYS);
            Ok(())
        };
        // SAFETY: between fork and exec there are system calls alone.
        unsafe { command.pre_exec(settle) };
        Ok((log, command.spawn()?))
    };
    start().map_err(|error| format!("cannot start {program}: {error}"))
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => {
            "ended with exit code 0: a service stays in the foreground until it is asked to end"
                .to_string()
        }
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, signal) => format!("was ended by {}", tree::signal_name(signal.unwrap_or(0))),
    }
}
