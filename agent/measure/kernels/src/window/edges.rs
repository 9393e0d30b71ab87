//! Where a window begins and ends, and what had been done by then.
//!
//! The kernel gives a group its CPU time at the same moment of every period, at which whoever was
//! held back goes on. What a step did before and what after that moment cannot be seen, but what
//! it did after it is no more than has passed since; and the steps of many periods show when it
//! comes: at the latest just before the earliest end of a step. An error in that moves both edges
//! alike and cancels.

use launch::shared_block::Stretch;
use record::Window;

/// Periods after which a window begins although nobody has been held back.
const PATIENCE: i64 = 3;
/// Share of a period that is too long for anything but being held back, and what is short or long
/// enough in any case. Who errs loses little: a window may begin anywhere, if it is the worker's
/// own doing that is cut.
const HELD_SHARE: i64 = 50;
const HELD_NS: (i64, i64) = (100_000, 2_000_000);

/// What a worker had done by a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mark {
    pub wall_ns: i64,
    /// CPU time of the thread that does the steps.
    pub own_ns: i64,
    /// CPU time of the process.
    pub cpu_ns: i64,
    pub work: f64,
    pub completed: i64,
}

/// From one mark to the next.
#[derive(Debug, Clone, Copy)]
struct Stride {
    from: Mark,
    to: Mark,
}

#[derive(Clone, Copy)]
struct Begin {
    at_ns: i64,
    /// The one that it falls into.
    stride: Stride,
}

/// Takes in marks, and knows of the past what it needs.
pub struct Edges {
    period_ns: i64,
    /// Those that the window spans.
    periods: i64,
    throttled: bool,
    start: Mark,
    last: Mark,
    /// The last stride in which the worker was held back.
    held: Option<Stride>,
    begin: Option<Begin>,
    /// From the beginning of a period of the window until the worker is let go on.
    pause_ns: Option<i64>,
    /// Work of one execution, once there was one.
    whole: Option<f64>,
}

impl Edges {
    pub fn new(plan: &Window, start: Mark) -> Self {
        Self {
            period_ns: plan.period_ns as i64,
            periods: i64::from(plan.periods),
            throttled: plan.throttled,
            start,
            last: start,
            held: None,
            begin: None,
            pause_ns: None,
            whole: None,
        }
    }

    pub fn begun(&self) -> bool {
        self.begin.is_some()
    }

    /// A step has ended; the window if it is over. `agree` is told when this worker would begin
    /// and answers when all do, as soon as somebody has said so: those who share a quota share
    /// each period's as it happens, so that only the same periods of all add up to it.
    pub fn pass(
        &mut self,
        now: Mark,
        agree: &mut impl FnMut(Option<i64>) -> Option<i64>,
    ) -> Option<Stretch> {
        let stride = Stride {
            from: self.last,
            to: now,
        };
        self.last = now;
        let completed = now.completed - self.start.completed;
        if self.whole.is_none() && completed > 0 {
            self.whole = Some((now.work - self.start.work) / completed as f64);
        }
        let held = self.is_held(&stride);
        if self.begin.is_none() {
            self.begin = self.beginning(stride, agree);
            if let Some(begin) = self.begin {
                self.time_the_pause(&begin.stride);
            }
        }
        if held {
            self.held = Some(stride);
            self.time_the_pause(&stride);
        }
        self.ending(&stride)
    }

    fn beginning(
        &self,
        stride: Stride,
        agree: &mut impl FnMut(Option<i64>) -> Option<i64>,
    ) -> Option<Begin> {
        let now = stride.to.wall_ns;
        if !self.throttled {
            return Some(Begin { at_ns: now, stride });
        }
        let late = now - self.start.wall_ns >= PATIENCE * self.period_ns;
        let proposed = if self.is_held(&stride) {
            Some(stride.from.wall_ns + stride.wall_ns() / 2)
        } else {
            late.then_some(now)
        };
        let at_ns = agree(proposed)?;
        let begin = |at_ns, stride| Some(Begin { at_ns, stride });
        if at_ns > stride.from.wall_ns {
            return (at_ns <= now).then_some(Begin { at_ns, stride });
        }
        match self.held {
            Some(held) if held.from.wall_ns < at_ns && at_ns <= held.to.wall_ns => {
                begin(at_ns, held)
            }
            // It went on while others were held back, so that all moments are alike to it.
            _ => begin(stride.from.wall_ns, stride),
        }
    }

    fn ending(&mut self, stride: &Stride) -> Option<Stretch> {
        let begin = self.begin?;
        loop {
            let end_ns = begin.at_ns + self.periods * self.period_ns;
            if stride.to.wall_ns < end_ns {
                return None;
            }
            let first = self.at(&begin.stride, begin.at_ns);
            let last = self.at(stride, end_ns);
            let work = last.work - first.work;
            let executions = last.completed - first.completed;
            // What is summed up in halves may lack the last bit.
            let enough = self.whole.is_some_and(|whole| work >= whole * (1.0 - 1e-9));
            if enough && executions > 0 {
                return Some(Stretch {
                    begin_ns: begin.at_ns,
                    end_ns,
                    cpu_ns: last.cpu_ns - first.cpu_ns,
                    work,
                    executions,
                });
            }
            self.periods += 1;
        }
    }

    /// What had been done by a moment within a stride, which is an edge of the window.
    fn at(&self, stride: &Stride, at_ns: i64) -> Mark {
        let (from, to) = (&stride.from, &stride.to);
        let (before, after) = (at_ns - from.wall_ns, to.wall_ns - at_ns);
        let own = to.own_ns - from.own_ns;
        let done = match self.pause_ns.filter(|_| self.is_held(stride)) {
            Some(pause) => own - (after - pause),
            None => (own as f64 * before as f64 / stride.wall_ns().max(1) as f64) as i64,
        };
        // It did no more in a time than that lasted.
        let done = done.min(before).min(own).max(own - after).max(0);
        let share = if own > 0 {
            done as f64 / own as f64
        } else {
            before as f64 / stride.wall_ns().max(1) as f64
        };
        Mark {
            wall_ns: at_ns,
            own_ns: from.own_ns + done,
            cpu_ns: from.cpu_ns + ((to.cpu_ns - from.cpu_ns) as f64 * share) as i64,
            work: from.work + (to.work - from.work) * share,
            completed: from.completed + ((to.completed - from.completed) as f64 * share) as i64,
        }
    }

    fn time_the_pause(&mut self, stride: &Stride) {
        let Some(begin) = self.begin.filter(|_| self.is_held(stride)) else {
            return;
        };
        let pause = (stride.to.wall_ns - begin.at_ns).rem_euclid(self.period_ns);
        self.pause_ns = Some(self.pause_ns.map_or(pause, |known| known.min(pause)));
    }

    /// Whether the worker was held back once; who takes more than a period for a step was so
    /// several times, and all of it evens out.
    fn is_held(&self, stride: &Stride) -> bool {
        let gap = stride.wall_ns() - (stride.to.own_ns - stride.from.own_ns);
        let least = (self.period_ns / HELD_SHARE).clamp(HELD_NS.0, HELD_NS.1);
        gap >= least && stride.wall_ns() < self.period_ns * 3 / 2
    }
}

impl Stride {
    fn wall_ns(&self) -> i64 {
        self.to.wall_ns - self.from.wall_ns
    }
}

#[cfg(test)]
mod tests;
