//! A kernel's work over and over through a window of time: how much is done in whole periods of a
//! CPU quota, at which the single execution says little.
//!
//! A process at a tenth of a CPU runs at full speed for a tenth of each period and not at all for
//! the rest. So stamps are taken after each small step, and the window lies between two moments
//! that are a whole number of periods apart. Nothing but the last steps is kept, however long it
//! takes.

mod edges;
mod launches;
mod pulse;

use std::panic::resume_unwind;
use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::clock;
use crate::kernels::{Steps, Wrong};
use crate::page::{self, Page};
use crate::record::Window;
use crate::rendezvous::Rendezvous;

use edges::{Edges, Mark};
pub use launches::Launches;
use pulse::Pulse;

/// Time between two stamps, of which one takes half a microsecond.
const EVERY_NS: i64 = 500_000;

/// What was done from one moment to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub begin_ns: i64,
    pub end_ns: i64,
    /// CPU time that the worker got in it.
    pub cpu_ns: i64,
    pub work: f64,
    /// Executions that ended in it.
    pub executions: i64,
}

impl Stretch {
    pub fn wall_ns(&self) -> i64 {
        self.end_ns - self.begin_ns
    }

    /// Units of work a second.
    pub fn throughput(&self) -> f64 {
        self.work * 1e9 / self.wall_ns() as f64
    }
}

/// Meets the others, works through a window, and keeps the load on until theirs have ended too.
/// A wrong result ends it at once, by unwinding.
pub fn perform(steps: &mut dyn Steps, plan: &Window, meeting: Option<&Rendezvous>, page: &Page) {
    if let Some(meeting) = meeting {
        meeting.meet(1);
    }
    let mut course = Course::new(steps, &page.head().window);
    course.follow(plan, meeting);
    course.keep_the_load_on(meeting);
}

struct Course<'a> {
    steps: &'a mut dyn Steps,
    work: f64,
    completed: i64,
    found: &'a page::Window,
}

impl<'a> Course<'a> {
    fn new(steps: &'a mut dyn Steps, found: &'a page::Window) -> Self {
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
        tell(self.found, &stretch, &mut pulse);
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

fn tell(place: &page::Window, stretch: &Stretch, pulse: &mut Pulse) {
    place.begin_ns.store(stretch.begin_ns, Relaxed);
    place.end_ns.store(stretch.end_ns, Relaxed);
    place.cpu_ns.store(stretch.cpu_ns, Relaxed);
    place.executions.store(stretch.executions, Relaxed);
    note(&place.work, Some(stretch.work));
    note(&place.clock_hz, pulse.hz());
    place.ended.store(1, Release);
}

fn note(place: &page::Number, value: Option<f64>) {
    if let Some(value) = value {
        place.set(value);
    }
}
