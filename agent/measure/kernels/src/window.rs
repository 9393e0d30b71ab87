//! A kernel's work over and over through a window of time: how much is done in whole periods of a
//! CPU quota, at which the single execution says little.
//!
//! A process at a tenth of a CPU runs at full speed for a tenth of each period and not at all for
//! the rest. So stamps are taken after each small step, and the window lies between two moments
//! that are a whole number of periods apart. Nothing but the last steps is kept, however long it
//! takes.

mod edges;
mod pulse;

use std::panic::resume_unwind;

use launch::rendezvous::Rendezvous;
use launch::shared_block::{self, SharedBlock};
use record::Window;
use sys::clock;

use crate::execution::Wrong;
use crate::steps::Steps;
use edges::{Edges, Mark};
use pulse::Pulse;

/// Time between two stamps, of which one takes half a microsecond.
const EVERY_NS: i64 = 500_000;

/// Meets the others, works through a window, and keeps the load on until theirs have ended too.
/// A wrong result ends it at once, by unwinding.
pub fn perform(
    steps: &mut dyn Steps,
    plan: &Window,
    meeting: Option<&Rendezvous>,
    block: &SharedBlock,
) {
    if let Some(meeting) = meeting {
        meeting.meet(1);
    }
    let mut course = Course::new(steps, &block.head().window);
    course.follow(plan, meeting);
    course.keep_the_load_on(meeting);
}

struct Course<'a> {
    steps: &'a mut dyn Steps,
    work: f64,
    completed: i64,
    found: &'a shared_block::Window,
}

impl<'a> Course<'a> {
    fn new(steps: &'a mut dyn Steps, found: &'a shared_block::Window) -> Self {
        Self {
            steps,
            found,
            work: 0.0,
            completed: 0,
        }
    }

    fn follow(&mut self, plan: &Window, meeting: Option<&Rendezvous>) {
        let mut alone = None;
        let mut agree = |proposed: Option<i64>| match meeting {
            Some(meeting) => meeting.agree(proposed),
            None => {
                alone = alone.or(proposed);
                alone
            }
        };
        let mut pulse = Pulse::new();
        let mut edges = Edges::new(plan, self.mark());
        let every_ns = EVERY_NS.min(plan.period_ns as i64 / 100);
        let stretch = loop {
            self.steps_for(every_ns);
            let now = self.mark();
            let found = edges.pass(now, &mut agree).or_else(|| {
                let felt = edges.begun() && pulse.feel(now.wall_ns);
                // What that took is none of the next step's.
                felt.then(|| edges.pass(self.mark(), &mut agree)).flatten()
            });
            if let Some(stretch) = found {
                break stretch;
            }
        };
        if let Some(hz) = pulse.hz() {
            self.found.clock_hz.set(hz);
        }
        self.found.end(&stretch);
    }

    fn steps_for(&mut self, nanoseconds: i64) {
        let begin = clock::monotonic();
        self.step();
        while clock::monotonic() - begin < nanoseconds {
            self.step();
        }
    }

    fn step(&mut self) {
        let step = self.steps.step();
        self.work += step.work;
        self.completed += step.completed as i64;
        if step.completed > 0 {
            note(&self.found.residual, self.steps.residual());
        }
        if let Some(wrong) = step.wrong {
            resume_unwind(Box::new(Wrong(wrong)));
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            wall_ns: clock::monotonic(),
            own_ns: clock::thread_cpu(),
            cpu_ns: clock::process_cpu(),
            work: self.work,
            completed: self.completed,
        }
    }

    fn keep_the_load_on(&mut self, meeting: Option<&Rendezvous>) {
        let Some(meeting) = meeting else {
            return;
        };
        meeting.finish();
        while !meeting.all_finished() {
            self.step();
        }
    }
}

fn note(place: &shared_block::Number, value: Option<f64>) {
    if let Some(value) = value {
        place.set(value);
    }
}
