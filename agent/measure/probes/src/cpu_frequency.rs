//! The speed at which CPUs really run: how it falls with the number of busy ones, and how long it
//! takes to come back after a rest. It is counted in additions that wait for each other, one a
//! cycle, so that nobody has to be asked.

use std::time::Duration;

use sys::addition_chain::adds;
use sys::clock;

use crate::affinity::pin;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::timing::at_once;

pub const PROBE: Probe = Probe {
    name: "cpu.frequency",
    title: "frequency of the CPUs",
    question: "How fast do the CPUs run when many are busy, and after a rest?",
    source: None,
    metrics: &[
        Metric {
            name: "cpu.frequency.steady",
            unit: "Hz",
            meaning: "dependent additions a second, which are cycles, of each of so many CPUs \
                      that are busy at once; median of windows of 50 µs, then over the CPUs",
            axes: &[Axis {
                name: "cores",
                unit: "1",
                meaning: "CPUs that are busy at once, cores before threads of one core",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.03,
        },
        Metric {
            name: "cpu.frequency.ramp",
            unit: "Hz",
            meaning: "the same of one CPU after it has slept for 40 ms; median over several rests",
            axes: &[Axis {
                name: "after_ns",
                unit: "ns",
                meaning: "from waking up to the end of the window",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.05,
        },
        Metric {
            name: "cpu.frequency.ramp_time",
            unit: "ns",
            meaning: "from waking up until a window has 95 % of the steady speed; 50000: at once",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.5,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.4),
        whole: Some(1.5),
    },
    repeats: true,
    needs: &[],
    perform,
};

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000_000;
const WINDOW_NS: i64 = 50 * MICROSECOND;
/// Some 4 µs, beside which a reading of the clock does not count.
const ADDITIONS: u64 = 1 << 14;
/// Long enough for governors to slow a CPU down, and for them to let it run again.
const REST: Duration = Duration::from_millis(40);
const RAMP_NS: i64 = 40 * MILLISECOND;
/// Share of the ramp, at its end, in which the speed is steady.
const STEADY: i64 = 4;
/// Numbers of busy CPUs that are told apart on a large machine.
const STEPS: usize = 8;

fn perform(round: &Round) -> Result<(), String> {
    let steps = steps(round.cpus.len());
    let share = round.budget_ns() / 2 / steps.len() as i64;
    for busy in steps {
        let speeds = at_once(&round.cpus[..busy], |_| {
            // The first windows see the CPU speed up.
            let mut speeds: Vec<_> = watch(share)
                .into_iter()
                .filter(|window| window.after_ns > share / 4)
                .map(|window| window.hz)
                .collect();
            median(&mut speeds)
        })?;
        let mut speeds: Vec<_> = speeds.into_iter().flatten().collect();
        if let Some(speed) = median(&mut speeds) {
            round.read_at("cpu.frequency.steady", &[busy as i64], speed);
        }
    }
    ramp(round)
}

fn ramp(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let rests = round.budget_ns() / 2 / (RAMP_NS + REST.as_nanos() as i64);
    let mut windows = Vec::new();
    for _ in 0..rests.max(1) {
        std::thread::sleep(REST);
        windows.append(&mut watch(RAMP_NS));
    }
    let course = course(&windows);
    for (after, speed) in &course {
        round.read_at("cpu.frequency.ramp", &[*after], *speed);
    }
    if let Some(time) = ramp_time(&course) {
        round.read("cpu.frequency.ramp_time", time as f64);
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Window {
    /// Its end.
    after_ns: i64,
    hz: f64,
}

/// Performs additions for so long and tells their speed window by window.
fn watch(budget_ns: i64) -> Vec<Window> {
    let mut windows = Vec::with_capacity((budget_ns / WINDOW_NS) as usize + 1);
    let start = clock::monotonic();
    let (mut began, mut performed) = (start, 0);
    while began - start < budget_ns {
        adds(ADDITIONS);
        performed += ADDITIONS;
        let now = clock::monotonic();
        if now - began >= WINDOW_NS {
            // Never more than was made room for: each takes at least its time.
            windows.push(Window {
                after_ns: now - start,
                hz: performed as f64 * 1e9 / (now - began) as f64,
            });
            (began, performed) = (now, 0);
        }
    }
    windows
}

/// Median speed in each bin of time, by the bins' ends.
fn course(windows: &[Window]) -> Vec<(i64, f64)> {
    let ends = bins();
    let mut speeds = vec![Vec::new(); ends.len()];
    for window in windows {
        // A window ends a little after the time that it was given.
        let at = window.after_ns - WINDOW_NS / 2;
        if let Some(bin) = ends.iter().position(|end| at <= *end) {
            speeds[bin].push(window.hz);
        }
    }
    let medians = speeds.iter_mut().map(|speeds| median(speeds));
    ends.iter()
        .copied()
        .zip(medians)
        .filter_map(|(end, speed)| Some((end, speed?)))
        .collect()
}

/// Ends of bins: fine at first, since what is slow may be coarse.
fn bins() -> Vec<i64> {
    let fine = (1..=20).map(|bin| bin * WINDOW_NS);
    let middle = (3..=20).map(|bin| bin * 500 * MICROSECOND);
    let coarse = (3..=8).map(|bin| bin * 5 * MILLISECOND);
    fine.chain(middle).chain(coarse).collect()
}

/// When 95 % of the speed at the end was reached.
fn ramp_time(course: &[(i64, f64)]) -> Option<i64> {
    let end = course.last()?.0;
    let mut late: Vec<_> = course
        .iter()
        .filter(|(after, _)| *after > end - end / STEADY)
        .map(|(_, speed)| *speed)
        .collect();
    let steady = median(&mut late)?;
    course
        .iter()
        .find(|(_, speed)| *speed >= 0.95 * steady)
        .map(|(after, _)| *after)
}

/// Numbers of busy CPUs: all where there are few, otherwise doublings up to all.
fn steps(cpus: usize) -> Vec<usize> {
    if cpus <= STEPS {
        return (1..=cpus).collect();
    }
    let doubled = std::iter::successors(Some(1), |busy| Some(busy * 2));
    doubled
        .take_while(|busy| *busy < cpus)
        .chain([cpus])
        .collect()
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_busy_cpus_end_with_all() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(steps(96), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(steps(128).last(), Some(&128));
    }

    #[test]
    fn bins_rise_up_to_the_end_of_the_ramp() {
        let bins = bins();
        assert!(bins.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((bins[0], bins[bins.len() - 1]), (WINDOW_NS, RAMP_NS));
    }

    /// Speeds of three rests, window by window.
    fn rests(speed: impl Fn(i64) -> f64) -> Vec<Window> {
        let windows = (1..=RAMP_NS / WINDOW_NS).map(|number| Window {
            after_ns: number * WINDOW_NS + 3 * MICROSECOND,
            hz: speed(number * WINDOW_NS),
        });
        let rest: Vec<_> = windows.collect();
        rest.repeat(3)
    }

    #[test]
    fn a_ramp_is_timed() {
        let steps_up = |after| if after <= 2 * MILLISECOND { 1e9 } else { 3e9 };
        let course = course(&rests(steps_up));
        assert_eq!(course.len(), bins().len());
        assert_eq!(ramp_time(&course), Some(2_500 * MICROSECOND));
    }

    #[test]
    fn no_ramp_is_over_with_the_first_window() {
        let course = course(&rests(|_| 3e9));
        assert_eq!(ramp_time(&course), Some(WINDOW_NS));
        assert_eq!(ramp_time(&[]), None);
    }

    #[test]
    fn a_window_that_was_interrupted_does_not_count() {
        let mut windows = rests(|_| 3e9);
        windows[0].hz = 1e8;
        assert_eq!(ramp_time(&course(&windows)), Some(WINDOW_NS));
    }
}
