use super::*;

const MS: i64 = 1_000_000;
const PERIOD: i64 = 100 * MS;

fn plan(periods: u32, throttled: bool) -> Window {
    Window {
        periods,
        period_ns: PERIOD as u64,
        throttled,
    }
}

/// A worker under a quota, who does one unit of work a nanosecond of CPU time. Time begins
/// somewhere in a period.
struct Machine {
    now_ns: i64,
    own_ns: i64,
    /// What it gets in a period, and what it has got in this one.
    quota_ns: i64,
    used_ns: i64,
    /// Where periods begin.
    phase_ns: i64,
}

impl Machine {
    fn new(quota_ns: i64) -> Self {
        Self {
            now_ns: 1_234 * MS + 567,
            own_ns: 0,
            quota_ns,
            used_ns: 0,
            phase_ns: 41 * MS,
        }
    }

    /// Uses CPU time, for which it may have to wait.
    fn work(&mut self, mut cpu_ns: i64) {
        while cpu_ns > 0 {
            let next = PERIOD - (self.now_ns - self.phase_ns).rem_euclid(PERIOD);
            let piece = cpu_ns.min(self.quota_ns - self.used_ns).min(next);
            self.now_ns += piece;
            self.own_ns += piece;
            self.used_ns += piece;
            cpu_ns -= piece;
            if piece == next {
                self.used_ns = 0;
            } else if self.used_ns == self.quota_ns {
                self.wait(next - piece);
                self.used_ns = 0;
            }
        }
    }

    fn wait(&mut self, nanoseconds: i64) {
        self.now_ns += nanoseconds;
    }

    fn mark(&self, completed: i64) -> Mark {
        Mark {
            wall_ns: self.now_ns,
            own_ns: self.own_ns,
            cpu_ns: self.own_ns,
            work: self.own_ns as f64,
            completed,
        }
    }
}

/// Steps of uneven length, of which so many are an execution, until the window is over.
fn follow(machine: &mut Machine, plan: &Window, step_ns: i64, steps: i64) -> Stretch {
    let mut alone = None;
    let mut agree = |proposed: Option<i64>| {
        alone = alone.or(proposed);
        alone
    };
    let mut edges = Edges::new(plan, machine.mark(0));
    for step in 1..1_000_000 {
        machine.work(step_ns * (50 + step * 37 % 100) / 100);
        if let Some(stretch) = edges.pass(machine.mark(step / steps), &mut agree) {
            return stretch;
        }
    }
    panic!("the window does not end")
}

fn assert_close(value: f64, expected: f64, share: f64) {
    let error = value / expected - 1.0;
    assert!(error.abs() <= share, "{value} instead of {expected}");
}

#[test]
fn a_tenth_of_a_cpu_is_a_tenth() {
    for step_us in [100, 700, 3_000] {
        let found = follow(
            &mut Machine::new(10 * MS),
            &plan(20, true),
            step_us * 1_000,
            7,
        );
        assert_eq!(found.wall_ns(), 20 * PERIOD);
        assert_close(found.cpu_ns as f64, 200.0 * MS as f64, 0.0005);
        assert_close(found.work, found.cpu_ns as f64, 0.0001);
    }
}

#[test]
fn it_begins_where_nothing_runs() {
    let found = follow(&mut Machine::new(10 * MS), &plan(3, true), MS, 7);
    let phase = (found.begin_ns - 41 * MS).rem_euclid(PERIOD);
    assert!((40 * MS..70 * MS).contains(&phase), "{phase}");
}

#[test]
fn almost_a_whole_cpu_is_almost_whole() {
    for quota_ms in [50, 97, 99] {
        let found = follow(
            &mut Machine::new(quota_ms * MS),
            &plan(20, true),
            2 * MS,
            100,
        );
        assert_eq!(found.wall_ns(), 20 * PERIOD);
        assert_close(found.cpu_ns as f64, (20 * quota_ms * MS) as f64, 0.0005);
    }
}

#[test]
fn who_is_never_held_back_begins_anyhow() {
    for throttled in [true, false] {
        let mut machine = Machine::new(2 * PERIOD);
        let start = machine.now_ns;
        let found = follow(&mut machine, &plan(20, throttled), 2 * MS, 100);
        assert_eq!(found.wall_ns(), 20 * PERIOD);
        assert_eq!(found.cpu_ns, found.wall_ns());
        let waited = found.begin_ns - start;
        assert_eq!(waited > 2 * PERIOD, throttled, "{waited}");
        assert!(waited < 4 * PERIOD);
    }
}

#[test]
fn it_lasts_until_it_holds_an_execution() {
    // 600 ms of CPU time are 60 periods.
    let found = follow(&mut Machine::new(10 * MS), &plan(20, true), 3 * MS, 200);
    let periods = found.wall_ns() / PERIOD;
    assert_eq!(found.wall_ns() % PERIOD, 0);
    assert!((60..=62).contains(&periods), "{periods}");
    assert!(found.work >= 590.0 * MS as f64);
    assert_close(found.cpu_ns as f64, (periods * 10 * MS) as f64, 0.0005);
}

#[test]
fn steps_of_many_periods_are_cut_in_proportion() {
    let found = follow(&mut Machine::new(10 * MS), &plan(20, true), 300 * MS, 1);
    assert_eq!(found.wall_ns() % PERIOD, 0);
    let quota = found.wall_ns() as f64 / 10.0;
    assert_close(found.cpu_ns as f64, quota, 10.0 * MS as f64 / quota);
}

#[test]
fn executions_count_where_they_end() {
    let found = follow(&mut Machine::new(2 * PERIOD), &plan(10, false), 10 * MS, 1);
    // Each takes a hundredth of the window, on average.
    assert!((95..=105).contains(&found.executions), "{found:?}");
}

#[test]
fn those_who_are_interrupted_get_less_and_it_is_counted() {
    let mut machine = Machine::new(30 * MS);
    let mut agreed = None;
    let mut agree = |proposed: Option<i64>| {
        agreed = agreed.or(proposed);
        agreed
    };
    let mut edges = Edges::new(&plan(20, true), machine.mark(0));
    for step in 1.. {
        machine.work(MS);
        if step % 7 == 0 {
            // Somebody else runs, or a hypervisor does.
            machine.wait(4 * MS);
        }
        if let Some(found) = edges.pass(machine.mark(step), &mut agree) {
            assert_eq!(found.wall_ns(), 20 * PERIOD);
            assert_close(found.cpu_ns as f64, 600.0 * MS as f64, 0.005);
            return;
        }
    }
}

/// Two share a quota unevenly, now one way, now the other; only the same periods of both add up.
#[test]
fn those_who_share_a_quota_cut_the_same_periods() {
    let mut agreed = None;
    let mut agree = |proposed: Option<i64>| {
        agreed = agreed.or(proposed);
        agreed
    };
    let share = |period: i64| 2 + period * 5 % 13;
    let mut workers: Vec<_> = (0..2)
        .map(|worker| {
            let own = (0..40).map(move |period| {
                let first = share(period);
                if worker == 0 {
                    first
                } else {
                    20 - first
                }
            });
            let marks = own.enumerate().flat_map(|(period, own)| {
                (1..=own).map(move |done| (period as i64 * PERIOD + done * MS, 1))
            });
            let start = Mark::default();
            (marks, Edges::new(&plan(20, true), start), start, None)
        })
        .collect();
    // One after the other by time, as they happen.
    for now in 0..40 * 100 {
        for (marks, edges, last, found) in &mut workers {
            let mut ahead = marks.clone();
            match ahead.next() {
                Some((wall_ns, milliseconds)) if wall_ns <= now * MS && found.is_none() => {
                    *marks = ahead;
                    let done = last.own_ns + milliseconds * MS;
                    *last = Mark {
                        wall_ns,
                        own_ns: done,
                        cpu_ns: done,
                        work: done as f64,
                        completed: done / MS,
                    };
                    *found = edges.pass(*last, &mut agree);
                }
                _ => {}
            }
        }
    }
    let found: Vec<_> = workers
        .iter()
        .map(|(.., found)| found.expect("over"))
        .collect();
    assert_eq!(found[0].begin_ns, found[1].begin_ns);
    let both: i64 = found.iter().map(|stretch| stretch.cpu_ns).sum();
    assert_close(both as f64, 400.0 * MS as f64, 0.0001);
}
