//! The processes around the command inside, and that one itself: started, waited for, ended.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stream::STDIN;
use sys::clock;
use sys::tree::{self, descendants, signal_name, Status, Waiting};
use sys::watch::{self, Signals};

use super::mounts::Binds;

/// Tells that the parent is no more. No other signal will do: it comes as well when only the
/// thread ends that started this process.
const ORPHANED: libc::c_int = libc::SIGUSR1;
/// How often it looks for what is not told by a signal.
const LOOK: Duration = Duration::from_millis(10);

/// All children of this process, its own and those that were left to it.
pub struct Family {
    signals: Signals,
    parent: libc::pid_t,
    ended: HashMap<libc::pid_t, Status>,
    /// Why everything is to end now.
    pub asked: Option<String>,
}

/// A process that was started.
pub struct Started {
    pub pid: libc::pid_t,
    shown: String,
}

impl Family {
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain switches and a plain question.
        let parent = unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            libc::prctl(libc::PR_SET_PDEATHSIG, ORPHANED);
            libc::getppid()
        };
        let ending = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
        let heard = [&[libc::SIGCHLD, ORPHANED][..], &ending].concat();
        Ok(Self {
            signals: Signals::new(&heard)?,
            parent,
            ended: HashMap::new(),
            asked: None,
        })
    }

    /// Starts something that reads nothing, and whose complaints are heard: what it says on
    /// standard output is neither a record nor a complaint.
    pub fn start(&self, argv: &[String]) -> Result<Started, String> {
        let (program, rest) = argv.split_first().ok_or("an empty command")?;
        let mut command = Command::new(program);
        command
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        launch(command, argv, Vec::new(), Binds::default())
    }

    /// Starts the command inside, with this process's own streams, in control groups, with mounts
    /// of its own.
    pub fn start_inside(
        &self,
        argv: &[String],
        directory: Option<&str>,
        doors: Vec<File>,
        binds: Binds,
    ) -> Result<Started, String> {
        let (program, rest) = argv.split_first().ok_or("no command to start inside")?;
        let mut command = Command::new(program);
        command.args(rest);
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        launch(command, argv, doors, binds)
    }

    /// Waits until a process has ended; None: the time is over, or everything is to end.
    pub fn wait(&mut self, process: &Started, limit: Option<Duration>) -> Option<Status> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            self.look(deadline.map_or(Duration::from_millis(200), |_| LOOK));
            if let Some(status) = self.ended.get(&process.pid) {
                return Some(*status);
            }
            if self.asked.is_some() || deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return None;
            }
        }
    }

    /// The same before the command inside has the standard input: its end is an end too.
    pub fn wait_outside(&mut self, process: &Started) -> Option<Status> {
        loop {
            let status = self.wait(process, Some(LOOK));
            if status.is_some() || self.is_to_end() {
                return status;
            }
        }
    }

    /// Whether somebody wants an end, or nobody is left who would speak to what is inside.
    pub fn is_to_end(&mut self) -> bool {
        let mut asked = libc::pollfd {
            fd: STDIN,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one record.
        unsafe { libc::poll(&mut asked, 1, 0) };
        if asked.revents & libc::POLLHUP != 0 && asked.revents & libc::POLLIN == 0 {
            self.asked = Some("its standard input ended".to_string());
        }
        self.look(Duration::ZERO);
        self.asked.is_some()
    }

    /// How a process ended, if it has.
    pub fn has_ended(&self, process: &Started) -> Option<Status> {
        self.ended.get(&process.pid).copied()
    }

    /// Asks a process and its group to end, and ends them after a while.
    pub fn end(&mut self, process: &Started, grace: Duration) {
        let (asked, whole) = (self.asked.take(), -process.pid);
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: a group that this process made, and that is not empty before it is reaped.
            unsafe {
                if self.ended.contains_key(&process.pid) && libc::kill(whole, 0) < 0 {
                    break;
                }
                libc::kill(process.pid, signal);
                libc::kill(whole, signal);
            }
            let deadline = Instant::now() + grace;
            while !self.ended.contains_key(&process.pid) && Instant::now() < deadline {
                self.look(LOOK);
            }
        }
        self.asked = asked;
    }

    /// Kills everybody who is left, also those who went away from their parents.
    pub fn end_all(&mut self) {
        let own = std::process::id() as libc::pid_t;
        for _ in 0..100 {
            // Looking for them takes milliseconds.
            if matches!(tree::ended(), Ok(Waiting::None)) {
                return;
            }
            let left = descendants(own);
            for relative in &left {
                // SAFETY: the number of a descendant is not given away before it is reaped.
                unsafe { libc::kill(relative.pid, libc::SIGKILL) };
            }
            self.look(if left.is_empty() {
                Duration::ZERO
            } else {
                LOOK
            });
            if left.is_empty() {
                return;
            }
        }
    }

    /// Takes in what has happened, or waits so long for something to happen.
    fn look(&mut self, most: Duration) {
        let deadline = clock::monotonic() + most.as_nanos() as i64;
        let _ = watch::poll([self.signals.as_raw_fd()], Some(deadline));
        let until = tree::leave();
        while clock::monotonic() < until {
            let Some(signal) = self.signals.take() else {
                break;
            };
            match signal {
                libc::SIGCHLD => {}
                // SAFETY: a plain question.
                ORPHANED if unsafe { libc::getppid() } == self.parent => {}
                ORPHANED => self.asked = Some("what started it has ended".to_string()),
                other => self.asked = Some(format!("it was sent {}", signal_name(other))),
            }
        }
        while clock::monotonic() < until {
            let Ok(Waiting::Ended(pid)) = tree::ended() else {
                return;
            };
            let Ok((status, _)) = tree::wait(pid) else {
                return;
            };
            self.ended.insert(pid, status);
        }
    }
}

impl Started {
    /// What it is, and how it ended, in words.
    pub fn told(&self, status: Status) -> String {
        match status {
            Status::Exited(code) => format!("{} ended with exit code {code}", self.shown),
            Status::Killed(signal) => {
                format!("{} was ended by {}", self.shown, signal_name(signal))
            }
        }
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Starts a process that ends with this one, in control groups.
fn launch(
    mut command: Command,
    argv: &[String],
    doors: Vec<File>,
    binds: Binds,
) -> Result<Started, String> {
    let parent = std::process::id() as libc::pid_t;
    let begin = move || {
        for mut door in &doors {
            door.write_all(b"0")?;
        }
        binds.enter()?;
        // What this process only reads of is to end what it starts.
        sys::signals::as_by_default([]);
        // SAFETY: plain switches and a plain question.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec there are only system calls.
    unsafe { command.pre_exec(begin) };
    let shown = shown(argv);
    let started = command.spawn();
    let child = started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !argv[0].contains('/') => {
            let path = std::env::var("PATH").unwrap_or_default();
            format!("cannot start {}: not found in {path}", argv[0])
        }
        _ => format!("cannot start {shown}: {error}"),
    })?;
    Ok(Started {
        pid: child.id() as libc::pid_t,
        shown,
    })
}

/// A command as it is told: its beginning.
fn shown(argv: &[String]) -> String {
    let mut words: Vec<&str> = argv.iter().take(4).map(String::as_str).collect();
    if argv.len() > words.len() {
        words.push("…");
    }
    words.join(" ")
}
