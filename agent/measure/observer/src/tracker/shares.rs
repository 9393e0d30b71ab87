//! Where threads spend their time: on a CPU, ready but without one, or waiting for something.

use std::collections::HashMap;

/// The time of all threads of a tree, how often they left a CPU, and for how long at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    pub on_cpu_ns: i64,
    pub preempted_ns: i64,
    pub blocked_ns: i64,
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
    Blocked,
}

/// Every living thread of the trees, and since when it is as it is.
#[derive(Debug, Default)]
pub struct Threads(HashMap<i32, Thread>);

#[derive(Debug)]
struct Thread {
    course: u64,
    state: State,
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
            State::Blocked => (&mut self.blocked_ns, &mut self.off_blocked),
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
            State::Blocked => self.blocked += 1,
        }
    }
}

impl Threads {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Follows a thread, unless it is followed already.
    pub fn begin(&mut self, tid: i32, course: u64, state: State, since_ns: i64) {
        self.0.entry(tid).or_insert(Thread {
            course,
            state,
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
    pub fn go(&mut self, tid: i32, to: State, time_ns: i64) -> Option<(u64, [Option<Spent>; 2])> {
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
                thread.course,
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
            return Some((thread.course, [Some(spent), None]));
        }
        thread.stretch_ns = 0;
        Some((thread.course, [ended(state, ns, stretch_ns), None]))
    }

    pub fn end(&mut self, tid: i32, time_ns: i64) -> Option<(u64, Spent)> {
        let thread = self.0.remove(&tid)?;
        let ns = time_ns - thread.since_ns;
        let stretch_ns = Some(thread.stretch_ns + ns);
        let spent = Spent {
            state: thread.state,
            ns,
            stretch_ns,
        };
        Some((thread.course, spent))
    }
}
