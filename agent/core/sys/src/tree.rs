//! The processes of one launch: its root, whose end is waited for, and every descendant, which
//! comes to this process (a subreaper) when its own parent has ended.

use std::collections::HashMap;
use std::fs;
use std::io;

use crate::clock;
use crate::usage::{self, Usage, WrittenBytes};

/// How long leave is taken at a time of who has ended: as fast as some are reaped, others can end,
/// and there is a time-out to look at.
const LEAVE_NS: i64 = 20_000_000;

/// Until when to take leave, from now on.
pub fn leave() -> i64 {
    clock::monotonic() + LEAVE_NS
}

/// A root process and what has become of it and of what it left behind.
pub struct Tree {
    root: libc::pid_t,
    pub end: Option<End>,
    /// CPU time of descendants that nobody had waited for.
    pub orphans_ns: i64,
    /// Return of the last wait.
    pub emptied_ns: i64,
    pub empty: bool,
}

/// How the root ended.
pub struct End {
    /// Return of the wait for it.
    pub monotonic_ns: i64,
    pub status: Status,
    pub usage: Usage,
    /// Its first thread only.
    pub wait_ns: Option<i64>,
    pub migrations: Option<i64>,
    /// With the descendants that were waited for.
    pub written_bytes: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    Killed(i32),
}

impl Tree {
    pub fn new(root: libc::pid_t) -> Self {
        Self {
            root,
            end: None,
            orphans_ns: 0,
            emptied_ns: 0,
            empty: false,
        }
    }

    /// Sends every descendant of this process the signal that nobody survives, and tells whom.
    /// Where there is no /proc to find them in, only those who stayed in the root's process group
    /// get it.
    pub fn kill(&self) -> Vec<libc::pid_t> {
        self.kill_group();
        let relatives = descendants(std::process::id() as libc::pid_t);
        let found: Vec<_> = relatives.iter().map(|relative| relative.pid).collect();
        for pid in &found {
            // SAFETY: the number of a descendant is not given away before we reap it.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        found
    }

    /// Sends it all in the root's process group, at one stroke: nobody is born into it meanwhile.
    fn kill_group(&self) {
        // SAFETY: the number of a group is not given away before it is empty.
        unsafe { libc::kill(-self.root, libc::SIGKILL) };
    }

    /// Takes leave of what has ended by now; whether there may be more of it. No signal tells of
    /// that again.
    pub fn reap(&mut self, written: &WrittenBytes) -> io::Result<bool> {
        let now = clock::monotonic();
        let until = leave();
        while clock::monotonic() < until {
            match ended()? {
                Waiting::None => {
                    self.empty = true;
                    return Ok(false);
                }
                Waiting::Alive => return Ok(false),
                Waiting::Ended(pid) if pid == self.root => {
                    // Only the not yet reaped have files in /proc.
                    let wait_ns = read(pid, "schedstat")
                        .and_then(|text| usage::run_queue_wait(text.as_bytes()));
                    let migrations = read(pid, "sched").and_then(|text| usage::migrations(&text));
                    let before = written.read();
                    let (status, usage) = wait(pid)?;
                    let written_bytes = before.and_then(|before| Some(written.read()? - before));
                    self.end = Some(End {
                        monotonic_ns: now,
                        status,
                        usage,
                        wait_ns,
                        migrations,
                        written_bytes,
                    });
                }
                Waiting::Ended(pid) => {
                    let (_, usage) = wait(pid)?;
                    self.orphans_ns += usage.user_ns + usage.system_ns;
                }
            }
            self.emptied_ns = now;
        }
        Ok(true)
    }
}

/// What a process's children are up to.
pub enum Waiting {
    /// There are no children.
    None,
    /// None of them has ended.
    Alive,
    Ended(libc::pid_t),
}

/// Whether a child has ended, which is then still to be waited for.
pub fn ended() -> io::Result<Waiting> {
    // SAFETY: writes one siginfo.
    let (result, pid) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        (
            libc::waitid(libc::P_ALL, 0, &mut info, options),
            info.si_pid(),
        )
    };
    match (result, pid) {
        (0, 0) => Ok(Waiting::Alive),
        (0, pid) => Ok(Waiting::Ended(pid)),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(Waiting::None),
            error => Err(error),
        },
    }
}

/// Whether a child has been stopped by a signal since this was last asked.
pub fn is_stopped(pid: libc::pid_t) -> bool {
    // SAFETY: writes one siginfo.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WSTOPPED | libc::WNOHANG;
        libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, options) == 0
            && info.si_pid() == pid
    }
}

/// What a child was waited for.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    Ended,
    Stopped,
}

/// Waits for a child to end, which is then still to be waited for, or to be stopped by a signal.
pub fn ends_or_stops(pid: libc::pid_t) -> Change {
    loop {
        // SAFETY: writes one siginfo.
        let (result, code) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
            let id = pid as libc::id_t;
            (
                libc::waitid(libc::P_PID, id, &mut info, options),
                info.si_code,
            )
        };
        match (result, code) {
            (0, libc::CLD_STOPPED) => return Change::Stopped,
            (0, _) => return Change::Ended,
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Change::Ended,
        }
    }
}

/// Waits for a child to end.
pub fn wait(pid: libc::pid_t) -> io::Result<(Status, Usage)> {
    // SAFETY: writes a status and one rusage.
    unsafe {
        let mut status = 0;
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(pid, &mut status, libc::__WALL, &mut usage) < 0 {
            return Err(io::Error::last_os_error());
        }
        let status = if libc::WIFSIGNALED(status) {
            Status::Killed(libc::WTERMSIG(status))
        } else {
            Status::Exited(libc::WEXITSTATUS(status))
        };
        Ok((status, Usage::from(&usage)))
    }
}

fn read(pid: libc::pid_t, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).ok()
}

/// A living process, for a message.
pub struct Relative {
    pub pid: libc::pid_t,
    pub name: String,
}

/// Every descendant of a process that has not ended, its own children first; none where there is
/// no /proc.
pub fn descendants(of: libc::pid_t) -> Vec<Relative> {
    let alive = offspring(of).into_iter().filter(|(_, stat)| !stat.ended);
    alive
        .map(|(pid, stat)| Relative {
            pid,
            name: stat.name,
        })
        .collect()
}

/// What all descendants of a process have together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Of those that they have waited for as well, in steps of the kernel's tick.
    pub cpu_ns: i64,
    /// In memory now; pages that several share count several times.
    pub memory_bytes: u64,
    pub threads: u64,
}

/// Adds up what the descendants of a process have; nothing where there is no /proc.
pub fn sums(of: libc::pid_t) -> Sums {
    // SAFETY: no preconditions.
    let (ticks, page) = unsafe {
        (
            libc::sysconf(libc::_SC_CLK_TCK),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let mut sums = Sums::default();
    for (_, stat) in offspring(of) {
        sums.cpu_ns += stat.ticks * (1_000_000_000 / ticks.max(1));
        sums.memory_bytes += (stat.pages.max(0) * page) as u64;
        sums.threads += u64::from(!stat.ended) * stat.threads.max(1) as u64;
    }
    sums
}

/// Every descendant, as there may be very many of it.
fn offspring(of: libc::pid_t) -> Vec<(libc::pid_t, Stat)> {
    let mut by_parent: HashMap<libc::pid_t, Vec<(libc::pid_t, Stat)>> = HashMap::new();
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for pid in pids {
        if let Some(stat) = read(pid, "stat").and_then(|text| parse_stat(&text)) {
            by_parent.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in by_parent.remove(&parent).into_iter().flatten() {
            parents.push(pid);
            found.push((pid, stat));
        }
    }
    found
}

/// Ends all that this process may end, but the first, at one stroke: nobody is born meanwhile. To be
/// called only where all of them are ours.
pub fn kill_everybody() {
    // SAFETY: a plain system call.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// As `kill -l` calls it.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "unusual",
    }
}

struct Stat {
    name: String,
    parent: libc::pid_t,
    ended: bool,
    /// CPU time, of those that it has waited for as well.
    ticks: i64,
    threads: i64,
    pages: i64,
}

/// As in proc(5). The name may hold anything, brackets and spaces too.
fn parse_stat(text: &str) -> Option<Stat> {
    let (head, tail) = text.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let (state, parent) = (fields.first()?, fields.get(1)?);
    // They count from 1; the third is the state.
    let number = |field: usize| -> i64 {
        let text = fields.get(field - 3);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    Some(Stat {
        name: head.split_once('(')?.1.to_string(),
        parent: parent.parse().ok()?,
        ended: matches!(*state, "Z" | "X"),
        ticks: (14..=17).map(number).sum(),
        threads: number(20),
        pages: number(24),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_confuse() {
        let stat = parse_stat("12 (a) b (c) S 7 12 12 0").unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.parent, stat.ended),
            ("a) b (c", 7, false)
        );
        assert!(parse_stat("12 (x) Z 1 1").unwrap().ended);
        assert!(parse_stat("").is_none());
    }
}
