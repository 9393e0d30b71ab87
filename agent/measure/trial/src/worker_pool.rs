//! The main process's side of its workers: starts them, hands out orders, gathers answers.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;

use launch::inherited::{BINARY_FD, CONTROL_FD};
use launch::Strings;
use record::{Probe, Trial};
use serde::Serialize;
use sys::cgroup;
use sys::clock;
use sys::descriptors;
use sys::tree::{self, Change, Status, Waiting};

use crate::orders::Order;

/// The workers of this instance, kept from trial to trial.
pub struct WorkerPool {
    name: String,
    binary: OwnedFd,
    members: Vec<Member>,
    /// The process of a round of a probe, while there is one.
    prober: Option<Member>,
}

/// One worker's process, or that of a probe's round.
pub struct Member {
    pid: libc::pid_t,
    control: UnixStream,
    answer: Vec<u8>,
    pub state: State,
    end: Option<Status>,
    /// Somebody else stopped it, so that it was ended.
    stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    Busy,
    Dead,
}

impl WorkerPool {
    pub fn new(name: String) -> io::Result<Self> {
        Ok(Self {
            name,
            binary: own_binary()?,
            members: Vec::new(),
            prober: None,
        })
    }

    /// Has so many living workers.
    pub fn muster(&mut self, count: usize) -> io::Result<()> {
        for number in 0..count {
            if number == self.members.len() {
                let member = self.start(number)?;
                self.members.push(member);
            } else if self.members[number].state == State::Dead {
                self.members[number] = self.start(number)?;
            }
        }
        Ok(())
    }

    /// Has workers do their parts of a trial, and meet in its memory where they are to.
    pub fn order(&mut self, trial: &Trial, memory: Option<BorrowedFd>) {
        for (index, member) in self
            .members
            .iter_mut()
            .enumerate()
            .take(trial.workers.len())
        {
            let trial = Box::new(trial.clone());
            member.tell(&Order::Perform { trial, index }, memory);
        }
    }

    /// Starts the process of a round of a probe and hands it its job.
    pub fn begin(&mut self, probe: &Probe) -> io::Result<&mut Member> {
        let mut prober = self.launch(&["tare-agent", "probe"])?;
        prober.tell(probe, None);
        Ok(self.prober.insert(prober))
    }

    /// The process of the round, until it is dismissed.
    pub fn prober(&mut self) -> &mut Member {
        self.prober.as_mut().expect("a round has begun")
    }

    /// Ends the process of the round with all that it started, and tells how it ended where it
    /// has not answered.
    pub fn dismiss(&mut self) -> Option<String> {
        let mut prober = self.prober.take()?;
        let answered = prober.state == State::Idle;
        if !answered {
            // SAFETY: it has not been waited for, so that its id is nobody else's.
            unsafe { libc::kill(prober.pid, libc::SIGKILL) };
        }
        prober.wait();
        self.kill_orphans();
        (!answered).then(|| prober.told())
    }

    /// Takes leave of children that have ended: workers, and, where this is a container's first
    /// process, whoever lost its parent. Whether there may be more of them.
    pub fn reap(&mut self) -> bool {
        let until = tree::leave();
        while clock::monotonic() < until {
            let Ok(Waiting::Ended(pid)) = tree::ended() else {
                return false;
            };
            match self.members.iter().position(|member| member.pid == pid) {
                Some(number) => drop(self.bury(number)),
                None => match &mut self.prober {
                    Some(prober) if prober.pid == pid => prober.reap(),
                    _ => drop(tree::wait(pid)),
                },
            }
        }
        true
    }

    /// Clears up after a worker that is dead, and tells how it died.
    pub fn bury(&mut self, number: usize) -> String {
        self.members[number].wait();
        self.clear_up_after(number);
        self.members[number].told()
    }

    /// Ends workers that somebody has stopped, as what they launched may where it is the same
    /// user: a worker that stands still would keep everybody waiting for ever.
    pub fn end_stopped(&mut self) {
        for member in self.members.iter_mut().chain(&mut self.prober) {
            if member.end.is_none() && tree::is_stopped(member.pid) {
                member.stopped = true;
                // SAFETY: it has not been waited for, so that its id is nobody else's.
                unsafe { libc::kill(member.pid, libc::SIGKILL) };
            }
        }
    }

    /// Ends what a worker that has ended may have left, and removes its groups.
    fn clear_up_after(&self, number: usize) {
        cgroup::remove(&self.name, &cgroup::of_worker(&self.name, number as u32));
        self.kill_orphans();
    }

    /// Ends what no living worker has started.
    fn kill_orphans(&self) {
        let spared: Vec<_> = self
            .members
            .iter()
            .filter(|member| member.end.is_none())
            .flat_map(|member| {
                tree::descendants(member.pid)
                    .into_iter()
                    .map(|d| d.pid)
                    .chain([member.pid])
            })
            .collect();
        for orphan in tree::descendants(std::process::id() as libc::pid_t) {
            if !spared.contains(&orphan.pid) {
                // SAFETY: the id of a descendant is not given away before we reap it.
                unsafe { libc::kill(orphan.pid, libc::SIGKILL) };
            }
        }
    }

    /// The first worker speaks for all.
    pub fn introduce(&mut self, id: u64) {
        self.members[0].tell(&Order::Introduce { id }, None);
    }

    pub fn members(&mut self) -> &mut [Member] {
        &mut self.members
    }

    fn start(&self, number: usize) -> io::Result<Member> {
        let number = number.to_string();
        let words = [
            "tare-agent",
            "worker",
            "--name",
            &self.name,
            "--number",
            &number,
        ];
        // The first process of a container has all others to itself.
        let alone = (std::process::id() == 1).then_some("--alone");
        self.launch(&words.into_iter().chain(alone).collect::<Vec<_>>())
    }

    fn launch(&self, arguments: &[&str]) -> io::Result<Member> {
        let (ours, theirs) = UnixStream::pair()?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let inherited = [
            // Whoever holds the front's pipes keeps it waiting for their end.
            (null.as_raw_fd(), libc::STDIN_FILENO),
            (null.as_raw_fd(), libc::STDOUT_FILENO),
            (theirs.as_raw_fd(), CONTROL_FD),
            (self.binary.as_raw_fd(), BINARY_FD),
        ];
        Ok(Member {
            pid: start_own(arguments, inherited)?,
            control: ours,
            answer: Vec::new(),
            state: State::Idle,
            end: None,
            stopped: false,
        })
    }
}

impl Member {
    fn tell(&mut self, order: &impl Serialize, file: Option<BorrowedFd>) {
        let mut line = serde_json::to_vec(order).expect("an order is JSON");
        line.push(b'\n');
        self.answer.clear();
        let sent = file.map_or(Ok(0), |file| descriptors::send(&self.control, &line, file));
        self.state = match sent.and_then(|sent| self.control.write_all(&line[sent..])) {
            Ok(()) => State::Busy,
            Err(_) => State::Dead,
        };
    }

    /// What to poll while it is busy.
    pub fn readable(&self) -> RawFd {
        match self.state {
            State::Busy => self.control.as_raw_fd(),
            _ => -1,
        }
    }

    /// Takes what has come of its answer; call when it is readable.
    pub fn feed(&mut self) {
        let mut chunk = [0; 65536];
        match self.control.read(&mut chunk) {
            Ok(0) | Err(_) => self.state = State::Dead,
            Ok(length) => self.answer.extend_from_slice(&chunk[..length]),
        }
        if self.answer.ends_with(b"\n\n") || self.answer == b"\n" {
            self.answer.pop();
            self.state = State::Idle;
        }
    }

    /// Takes leave of it before its answer has been read to the end.
    fn reap(&mut self) {
        self.end = tree::wait(self.pid).ok().map(|(status, _)| status);
    }

    /// Whole lines of its answer.
    pub fn answer(&self) -> &[u8] {
        let end = self.answer.iter().rposition(|byte| *byte == b'\n');
        &self.answer[..end.map_or(0, |end| end + 1)]
    }

    /// How it ended.
    fn told(&self) -> String {
        match self.end {
            _ if self.stopped => "it was stopped by a signal".to_string(),
            Some(Status::Exited(code)) => format!("exit code {code}"),
            Some(Status::Killed(signal)) => {
                format!("signal {signal} ({})", tree::signal_name(signal))
            }
            None => "nobody knows how".to_string(),
        }
    }

    /// Waits for it to end by itself, which it does not do while somebody keeps it stopped.
    fn end_or_wait(&mut self) -> Option<Status> {
        if self.end.is_none() && tree::ends_or_stops(self.pid) == Change::Stopped {
            // SAFETY: it has not been waited for, so that its id is nobody else's.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        self.wait()
    }

    fn wait(&mut self) -> Option<Status> {
        if self.end.is_none() {
            self.end = tree::wait(self.pid).ok().map(|(status, _)| status);
        }
        self.state = State::Dead;
        self.end
    }
}

impl Drop for WorkerPool {
    /// Workers end, with everything that they have launched, when nobody speaks to them.
    fn drop(&mut self) {
        self.dismiss();
        for member in &self.members {
            let _ = member.control.shutdown(Shutdown::Both);
        }
        for number in 0..self.members.len() {
            if self.members[number].end_or_wait() != Some(Status::Exited(0)) {
                self.bury(number);
            }
        }
    }
}

/// Starts this binary anew with descriptors at the numbers where it looks for them: a process
/// that is as small as it was at first, whatever this one has grown to. Needs no /proc.
fn start_own<const N: usize>(
    arguments: &[&str],
    inherited: [(RawFd, RawFd); N],
) -> io::Result<libc::pid_t> {
    let arguments = Strings::new(arguments.iter().copied()).map_err(io::Error::other)?;
    match launch::clone(None)? {
        0 => {
            // SAFETY: between fork and exec, only system calls on what was prepared.
            unsafe {
                let safe = inherited.map(|(file, _)| libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 10));
                for (file, (_, target)) in safe.into_iter().zip(inherited) {
                    libc::dup2(file, target);
                }
                let nothing = [std::ptr::null::<libc::c_char>()];
                let (argv, envp) = (arguments.pointers(), nothing.as_ptr());
                let empty = c"".as_ptr();
                libc::syscall(
                    libc::SYS_execveat,
                    BINARY_FD,
                    empty,
                    argv,
                    envp,
                    libc::AT_EMPTY_PATH,
                );
                libc::_exit(127)
            }
        }
        child => Ok(child),
    }
}

/// The file that this process runs, whatever its path holds by now.
fn own_binary() -> io::Result<OwnedFd> {
    let file = File::open("/proc/self/exe").or_else(|_| File::open(started_as()))?;
    Ok(file.into())
}

/// The path that the kernel was given, for places without /proc.
fn started_as() -> std::path::PathBuf {
    // SAFETY: the auxiliary vector holds a C string of this process's own.
    let path = unsafe {
        let address = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        std::ffi::CStr::from_ptr(address)
    };
    std::ffi::OsStr::from_bytes(path.to_bytes()).into()
}
