//! Where threads spend their time: on a CPU, ready but without one, or waiting for something.

use std::collections::HashMap;

use sys::perf::waits::Wait;

/// The time of all threads of a tree, how often they left a CPU, and for how long at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    pub on_cpu_ns: i64,
    pub preempted_ns: i64,
    pub blocked_ns: i64,
    /// Parts of `blocked_ns`; 0 as well where the reasons of waits are not recorded.
    pub disk_ns: i64,
    pub network_ns: i64,
    pub preempted: i64,
    pub blocked: i64,
    pub on_cpu: Lengths,
    pub off_preempted: Lengths,
    pub off_blocked: Lengths,
}

/// How many uninterrupted stretches of one state there were, by length: bucket K counts those of
/// 2^K ns to less than 2^(K + 1) ns, as BCC's cpudist does in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lengths([i64; (Lengths::LAST - Lengths::FIRST + 1) as usize]);

impl Lengths {
    /// The first bucket, which has all shorter stretches too, and the last, with all longer ones.
    pub const FIRST: u32 = 10;
    pub const LAST: u32 = 30;

    fn count(&mut self, ns: i64) {
        let log2 = u64::try_from(ns).ok().and_then(u64::checked_ilog2);
        let bucket = log2.unwrap_or(0).clamp(Self::FIRST, Self::LAST);
        self.0[(bucket - Self::FIRST) as usize] += 1;
    }

    /// Buckets that are not empty, as (K, stretches).
    pub fn counted(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        (Self::FIRST..).zip(self.0).filter(|(_, n)| *n > 0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    /// Off its CPU though it could have gone on.
    Preempted,
    /// Until it has a CPU again: that it was woken before is not told by switches.
    Blocked(Wait),
}

/// Whose a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub course: u64,
    /// Whether it is of the course's first process.
    pub first: bool,
}

/// Every living thread of the trees, and since when it is as it is.
#[derive(Debug, Default)]
pub struct Threads(HashMap<i32, Thread>);

#[derive(Debug)]
struct Thread {
    owner: Owner,
    state: State,
    /// What it waits for when it next leaves its CPU by itself.
    wait: Wait,
    since_ns: i64,
    begun_ns: i64,
    /// Of the present stretch, the part that is spent already.
    stretch_ns: i64,
}

/// What is known to have been spent in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub state: State,
    pub ns: i64,
    /// Length of the stretch that ends with it; None: it goes on.
    pub stretch_ns: Option<i64>,
}

impl Shares {
    pub fn spend(&mut self, spent: Spent) {
        let (total, lengths) = match spent.state {
            State::Running => (&mut self.on_cpu_ns, &mut self.on_cpu),
            State::Preempted => (&mut self.preempted_ns, &mut self.off_preempted),
            State::Blocked(wait) => {
                match wait {
                    Wait::Disk => self.disk_ns += spent.ns,
                    Wait::Network => self.network_ns += spent.ns,
                    Wait::Other => {}
                }
                (&mut self.blocked_ns, &mut self.off_blocked)
            }
        };
        *total += spent.ns;
        if let Some(ns) = spent.stretch_ns {
            lengths.count(ns);
        }
    }

    pub fn count(&mut self, to: State) {
        match to {
            State::Running => {}
            State::Preempted => self.preempted += 1,
            State::Blocked(_) => self.blocked += 1,
        }
    }
}

impl Threads {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Follows a thread, unless it is followed already.
    pub fn begin(&mut self, tid: i32, owner: Owner, state: State, since_ns: i64) {
        self.0.entry(tid).or_insert(Thread {
            owner,
            state,
            wait: Wait::Other,
            since_ns,
            begun_ns: since_ns,
            stretch_ns: 0,
        });
    }

    /// A thread goes over to a state; its course, and in which states it turns out to have been for
    /// how long.
    ///
    /// That it left one CPU may be read after that it is on another: a virtual CPU that is held up
    /// between stamping a record and publishing it is late. It was off then, not on, since the one
    /// and until the other.
    pub fn go(&mut self, tid: i32, to: State, time_ns: i64) -> Option<(Owner, [Option<Spent>; 2])> {
        let thread = self.0.get_mut(&tid)?;
        if time_ns < thread.begun_ns {
            return None;
        }
        let ns = time_ns - thread.since_ns;
        let state = thread.state;
        let stretch_ns = thread.stretch_ns + ns;
        let ended = |state, ns, stretch_ns| {
            Some(Spent {
                state,
                ns,
                stretch_ns: Some(stretch_ns),
            })
        };
        if ns < 0 && state == State::Running {
            thread.stretch_ns = 0;
            return Some((
                thread.owner,
                [ended(state, ns, stretch_ns), ended(to, -ns, -ns)],
            ));
        }
        (thread.state, thread.since_ns) = (to, time_ns);
        if state == to {
            thread.stretch_ns = stretch_ns;
            let spent = Spent {
                state,
                ns,
                stretch_ns: None,
            };
            return Some((thread.owner, [Some(spent), None]));
        }
        thread.stretch_ns = 0;
        Some((thread.owner, [ended(state, ns, stretch_ns), None]))
    }

    pub fn end(&mut self, tid: i32, time_ns: i64) -> Option<(Owner, Spent)> {
        let thread = self.0.remove(&tid)?;
        let ns = time_ns - thread.since_ns;
        let stretch_ns = Some(thread.stretch_ns + ns);
        let spent = Spent {
            state: thread.state,
            ns,
            stretch_ns,
        };
        Some((thread.owner, spent))
    }

    /// A thread is about to leave its CPU, to wait for this if it does so by itself.
    pub fn waits(&mut self, tid: i32, wait: Wait) {
        if let Some(thread) = self.0.get_mut(&tid) {
            thread.wait = wait;
        }
    }

    /// What a thread that leaves its CPU now waits for.
    pub fn wait(&mut self, tid: i32) -> Wait {
        let wait = self.0.get_mut(&tid).map(|thread| &mut thread.wait);
        wait.map_or(Wait::Other, |wait| std::mem::replace(wait, Wait::Other))
    }

    /// What each thread has spent so far; from a time on it is counted anew, its stretch goes on.
    pub fn settle(&mut self, time_ns: i64) -> Vec<(Owner, Spent)> {
        let threads = self.0.values_mut();
        let earlier = threads.filter(|thread| thread.since_ns <= time_ns);
        earlier
            .map(|thread| {
                let spent = Spent {
                    state: thread.state,
                    ns: time_ns - thread.since_ns,
                    stretch_ns: None,
                };
                thread.since_ns = time_ns;
                thread.stretch_ns += spent.ns;
                (thread.owner, spent)
            })
            .collect()
    }
}
