//! From what happened on all CPUs, in order, to the courses of the processes that agents marked.

mod shares;

use std::collections::{HashMap, HashSet};

use record::marker::Marker;
use sys::perf::{Happening, What};

pub use shares::Shares;
use shares::{Owner, Spent, State, Threads};

/// As much of a nonce or a trial's number as a marker holds.
const MARKED: u32 = 0xff_ffff;

/// What became of one launched process.
#[derive(Debug, Clone)]
pub struct Course {
    pub marker: Marker,
    pid: i32,
    /// Its first exec after it was marked.
    pub start_ns: Option<i64>,
    /// The last end among its threads.
    pub end_ns: Option<i64>,
    /// The last switch away from a thread that had ended.
    pub gone_ns: Option<i64>,
    last_ns: Option<i64>,
    shares: Shares,
    /// The same while services were under load, of all processes but the first, which only starts
    /// them; none where there was no load.
    pub load: Option<Shares>,
    /// Processes of its tree that have not ended.
    living: u32,
}

impl Course {
    /// End of the last descendant, once all have ended.
    pub fn tree_end(&self) -> Option<i64> {
        self.last_ns.filter(|_| self.living == 0)
    }

    /// Where the time of all threads of the tree went, once all have ended.
    pub fn shares(&self) -> Option<&Shares> {
        self.tree_end().map(|_| &self.shares)
    }

    fn is_over(&self, switches: bool) -> bool {
        self.start_ns.is_none() || self.end_ns.is_some() && (!switches || self.gone_ns.is_some())
    }
}

/// Follows the marked processes of one session and all their descendants.
///
/// Any process can take any name, and a marker is to be seen while a launcher waits to begin. So a
/// marker counts only of a process that an agent has forked, and only once: not of what it becomes,
/// and not of what descends from it.
#[derive(Debug, Default)]
pub struct Tracker {
    nonce: Option<u32>,
    /// Agents and what they have forked, as far as it is not marked; None: not known.
    launchers: Option<HashSet<i32>>,
    /// By number, in order of their markers.
    courses: HashMap<u64, Course>,
    next: u64,
    members: HashMap<i32, Member>,
    /// Threads that have ended, but may still be on a CPU.
    dying: HashMap<i32, u64>,
    /// The thread on each CPU, as far as switches told.
    running: HashMap<u32, i32>,
    threads: Threads,
    /// Whether services are under load.
    loaded: bool,
}

/// A process of a tree.
#[derive(Debug)]
struct Member {
    course: u64,
    threads: u32,
}

impl Tracker {
    /// Forgets what is over, and follows markers with this nonce from here on.
    pub fn begin(&mut self, nonce: u32, launchers: Option<HashSet<i32>>) {
        self.nonce = Some(nonce & MARKED);
        self.launchers = launchers;
        self.courses.clear();
        self.dying.clear();
        self.threads.clear();
        self.loaded = false;
    }

    /// Whether the agents that launch are seen: not those of platforms with kernels of their own.
    pub fn sees_launchers(&self) -> bool {
        self.launchers.is_some()
    }

    /// Everything up to a time has been taken in, when the load on services begins or ends.
    pub fn load(&mut self, begins: bool, time_ns: i64) {
        for (owner, spent) in self.threads.settle(time_ns) {
            self.spend(owner, spent);
        }
        self.loaded = begins;
        if begins {
            for course in self.courses.values_mut() {
                course.load = Some(Shares::default());
            }
        }
    }

    /// Whether nothing more is to come of the trial's processes.
    pub fn is_over(&self, trial: u64, switches: bool) -> bool {
        self.of(trial).all(|course| course.is_over(switches))
    }

    /// Courses of a trial, in order of worker and iteration.
    pub fn courses(&self, trial: u64) -> Vec<Course> {
        let mut courses: Vec<Course> = self.of(trial).cloned().collect();
        courses.sort_by_key(|course| (course.marker.worker, course.marker.iteration));
        courses
    }

    fn of(&self, trial: u64) -> impl Iterator<Item = &Course> {
        let trial = trial as u32 & MARKED;
        self.courses
            .values()
            .filter(move |course| course.marker.trial == trial)
    }

    /// Takes in what happened next on any CPU.
    pub fn take(&mut self, cpu: u32, happening: &Happening) {
        let Happening {
            time_ns, pid, tid, ..
        } = *happening;
        match happening.what {
            What::Named { name, by_exec } => self.named(pid, time_ns, &name, by_exec),
            What::Forked { parent } => self.forked(parent, pid, tid, time_ns),
            What::Ended => self.ended(pid, tid, time_ns),
            What::SwitchedIn => {
                self.running.insert(cpu, tid);
                self.goes(tid, State::Running, time_ns);
            }
            What::SwitchedOut { preempted } => {
                // Who has been waited for has no number any more.
                let left = self.running.remove(&cpu);
                let tid = if tid > 0 { Some(tid) } else { left };
                self.switched_out(tid, preempted, time_ns);
            }
            What::Waits(wait) => self.threads.waits(tid, wait),
            What::Lost(_) => {}
        }
    }

    fn named(&mut self, pid: i32, time_ns: i64, name: &[u8; 16], by_exec: bool) {
        if by_exec {
            let Some(number) = self.members.get(&pid).map(|member| member.course) else {
                return;
            };
            // Of many threads the one that executes is left, with the first one's number.
            let owner = self.owner(number, pid);
            self.threads.begin(pid, owner, State::Running, time_ns);
            let course = self.courses.get_mut(&number);
            if let Some(course) = course.filter(|course| course.pid == pid) {
                // A chain of execs counts from the first.
                course.start_ns.get_or_insert(time_ns);
            }
            return;
        }
        let marker = Marker::read(name).filter(|marker| Some(marker.nonce) == self.nonce);
        if let Some(marker) = marker.filter(|_| self.may_be_marked(pid)) {
            self.members.insert(pid, Member::new(self.next));
            let course = Course {
                marker,
                pid,
                start_ns: None,
                end_ns: None,
                gone_ns: None,
                last_ns: None,
                shares: Shares::default(),
                load: self.loaded.then(Shares::default),
                living: 1,
            };
            self.courses.insert(self.next, course);
            self.next += 1;
        }
    }

    /// Whether it is fresh from a launcher.
    fn may_be_marked(&mut self, pid: i32) -> bool {
        let launched = match &mut self.launchers {
            Some(launchers) => launchers.remove(&pid),
            None => true,
        };
        launched && !self.members.contains_key(&pid)
    }

    fn forked(&mut self, parent: i32, pid: i32, tid: i32, time_ns: i64) {
        self.dying.remove(&tid);
        if let Some(launchers) = &mut self.launchers {
            if launchers.contains(&parent) {
                launchers.insert(pid);
            }
        }
        if let Some(member) = self.members.get(&parent) {
            // Who is new would like to run.
            let owner = self.owner(member.course, pid);
            self.threads.begin(tid, owner, State::Preempted, time_ns);
        }
        if parent == pid {
            if let Some(member) = self.members.get_mut(&pid) {
                member.threads += 1;
            }
        } else if let Some(number) = self.members.get(&parent).map(|member| member.course) {
            self.members.insert(pid, Member::new(number));
            if let Some(course) = self.courses.get_mut(&number) {
                course.living += 1;
            }
        }
    }

    fn ended(&mut self, pid: i32, tid: i32, time_ns: i64) {
        if let Some(launchers) = self.launchers.as_mut().filter(|_| pid == tid) {
            launchers.remove(&pid);
        }
        if let Some((owner, spent)) = self.threads.end(tid, time_ns) {
            self.spend(owner, spent);
        }
        let Some(member) = self.members.get_mut(&pid) else {
            return;
        };
        let number = member.course;
        member.threads -= 1;
        let whole = member.threads == 0;
        if whole {
            self.members.remove(&pid);
        }
        let Some(course) = self.courses.get_mut(&number) else {
            return;
        };
        course.last_ns = Some(time_ns);
        course.living -= u32::from(whole);
        if course.pid == pid {
            course.end_ns = Some(time_ns);
            self.dying.insert(tid, number);
        }
    }

    /// A thread is in another state from now on.
    fn goes(&mut self, tid: i32, to: State, time_ns: i64) {
        let Some((owner, spent)) = self.threads.go(tid, to, time_ns) else {
            return;
        };
        for one in spent.into_iter().flatten() {
            self.spend(owner, one);
        }
        if let Some(course) = self.courses.get_mut(&owner.course) {
            course.shares.count(to);
        }
    }

    fn owner(&self, course: u64, pid: i32) -> Owner {
        let first = self.courses.get(&course).is_some_and(|one| one.pid == pid);
        Owner { course, first }
    }

    fn spend(&mut self, owner: Owner, spent: Spent) {
        let Some(course) = self.courses.get_mut(&owner.course) else {
            return;
        };
        course.shares.spend(spent);
        let load = course.load.as_mut();
        if let Some(load) = load.filter(|_| self.loaded && !owner.first) {
            load.spend(spent);
        }
    }

    fn switched_out(&mut self, tid: Option<i32>, preempted: bool, time_ns: i64) {
        if let Some(tid) = tid {
            let wait = self.threads.wait(tid);
            let to = if preempted {
                State::Preempted
            } else {
                State::Blocked(wait)
            };
            self.goes(tid, to, time_ns);
        }
        let number = tid.and_then(|tid| self.dying.get(&tid));
        if let Some(course) = number.and_then(|number| self.courses.get_mut(number)) {
            course.gone_ns = Some(time_ns);
        }
    }
}

impl Member {
    fn new(course: u64) -> Self {
        Self { course, threads: 1 }
    }
}

#[cfg(test)]
mod tests;
