//! A window of executions that are processes of their own: their ends are all that is known.

use launch::shared_block::Stretch;
use record::Window;

/// Takes in ends of executions, one after the other. The first opens the window.
pub struct Launches {
    period_ns: i64,
    periods: i64,
    first: Option<End>,
    last: End,
}

#[derive(Clone, Copy, Default)]
struct End {
    wall_ns: i64,
    /// CPU time used by then.
    cpu_ns: i64,
    executions: i64,
}

impl Launches {
    pub fn new(plan: &Window) -> Self {
        Self {
            period_ns: plan.period_ns as i64,
            periods: i64::from(plan.periods),
            first: None,
            last: End::default(),
        }
    }

    /// One more has ended, by when so much CPU time had been used; the window if it is over.
    ///
    /// An end may come just before the group is held back, or just after: so the window ends
    /// after a whole number of periods, and of the execution that goes on then, the part counts
    /// that was over.
    pub fn end(&mut self, wall_ns: i64, cpu_ns: i64) -> Option<Stretch> {
        let before = self.last;
        self.last = End {
            wall_ns,
            cpu_ns,
            executions: before.executions + 1,
        };
        let now = self.last;
        let first = *self.first.get_or_insert(now);
        let periods = (now.wall_ns - first.wall_ns) / self.period_ns;
        (periods >= self.periods).then(|| {
            let end_ns = first.wall_ns + periods * self.period_ns;
            let over = (end_ns - before.wall_ns) as f64 / (now.wall_ns - before.wall_ns) as f64;
            let cpu_ns = (now.cpu_ns - before.cpu_ns) as f64 * over;
            Stretch {
                begin_ns: first.wall_ns,
                end_ns,
                cpu_ns: before.cpu_ns - first.cpu_ns + cpu_ns as i64,
                work: (before.executions - first.executions) as f64 + over,
                executions: now.executions - first.executions,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches() -> Launches {
        Launches::new(&Window {
            periods: 2,
            period_ns: 100,
            throttled: true,
        })
    }

    #[test]
    fn the_last_execution_counts_as_far_as_it_was_over() {
        let mut launches = launches();
        assert_eq!(launches.end(1000, 99), None);
        assert_eq!(launches.end(1150, 119), None);
        let found = launches.end(1250, 149).unwrap();
        assert_eq!((found.begin_ns, found.end_ns), (1000, 1200));
        assert_eq!((found.work, found.cpu_ns, found.executions), (1.5, 35, 2));
    }

    #[test]
    fn one_long_execution_makes_a_window() {
        let mut launches = launches();
        assert_eq!(launches.end(0, 99), None);
        let found = launches.end(990, 499).unwrap();
        assert_eq!((found.wall_ns(), found.executions), (900, 1));
        assert!((found.throughput() - 1e9 / 990.0).abs() < 1.0);
    }
}
