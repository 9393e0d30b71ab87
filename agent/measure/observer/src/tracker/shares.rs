//! Where threads spend their time: on a CPU, ready but without one, or waiting for something.

use std::collections::HashMap;

/// The time of all threads of a tree, and how often they left a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    pub on_cpu_ns: i64,
    pub preempted_ns: i64,
    pub blocked_ns: i64,
    pub preempted: i64,
    pub blocked: i64,
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
}

impl Shares {
    pub fn spend(&mut self, state: State, ns: i64) {
        *match state {
            State::Running => &mut self.on_cpu_ns,
            State::Preempted => &mut self.preempted_ns,
            State::Blocked => &mut self.blocked_ns,
        } += ns;
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
        });
    }

    /// A thread goes over to a state; its course, and in which states it turns out to have been for
    /// how long.
    ///
    /// That it left one CPU may be read after that it is on another: a virtual CPU that is held up
    /// between stamping a record and publishing it is late. It was off then, not on, since the one
    /// and until the other.
    pub fn go(&mut self, tid: i32, state: State, time_ns: i64) -> Option<(u64, [(State, i64); 2])> {
        let thread = self.0.get_mut(&tid)?;
        if time_ns < thread.begun_ns {
            return None;
        }
        let ns = time_ns - thread.since_ns;
        let was = thread.state;
        if ns < 0 && was == State::Running {
            return Some((thread.course, [(was, ns), (state, -ns)]));
        }
        (thread.state, thread.since_ns) = (state, time_ns);
        Some((thread.course, [(was, ns), (state, 0)]))
    }

    pub fn end(&mut self, tid: i32, time_ns: i64) -> Option<(u64, State, i64)> {
        let thread = self.0.remove(&tid)?;
        Some((thread.course, thread.state, time_ns - thread.since_ns))
    }
}
