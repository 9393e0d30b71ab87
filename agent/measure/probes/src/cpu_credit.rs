//! Whether the CPUs stay as fast as they are at first under full load: providers let virtual
//! machines run at full speed only as long as their credit lasts. Such a machine steps down and
//! stays down, which tells it from a neighbour's burst and from a CPU that gets warm. Time in which
//! others of this machine had the CPUs (or a quota was used up) does not count: they come and go
//! with no credit.

mod step;

use sys::addition_chain::adds;
use sys::clock;

use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::steal::waited_ns;
use crate::timing::at_once;

pub const PROBE: Probe = Probe {
    name: "cpu.credit",
    title: "speed under minutes of full load",
    question: "Does the speed step down when all CPUs have been busy for minutes?",
    source: Some("CLOUDNET F5.2: providers shape the CPU as well"),
    metrics: &[
        Metric {
            name: "cpu.credit.speed",
            unit: "Hz",
            meaning: "dependent additions a second, all usable CPUs together, all of them busy, \
                      over the time in which the machine's own scheduler let them run",
            axes: &[Axis {
                name: "second",
                unit: "s",
                meaning: "since the load began",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.1,
        },
        Metric {
            name: "cpu.credit.step",
            unit: "1",
            meaning: "speed after a step down that lasted to the end, as a multiple of the speed \
                      before; 1: there was none of 10 % or more",
            axes: &[],
            listed: false,
            better: Better::Higher,
            margin: 0.1,
        },
        Metric {
            name: "cpu.credit.time_to_step",
            unit: "ns",
            meaning: "from the beginning of the load to that step; absent: there was none",
            axes: &[],
            listed: false,
            better: Better::Higher,
            margin: 0.2,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: None,
        whole: Some(150.0),
    },
    repeats: false,
    needs: &[],
    perform,
};

const SECOND_NS: i64 = 1_000_000_000;
/// Some 20 µs: the way from one second to the next is short beside a second.
const ADDITIONS: u64 = 1 << 16;
/// Below that, what is left is too little to tell a speed by.
const LEAST_GIVEN: f64 = 0.1;

fn perform(round: &Round) -> Result<(), String> {
    let seconds = (round.budget_ns() / SECOND_NS) as usize;
    let start = clock::monotonic();
    let each = at_once(&round.cpus, |_| work(start, seconds))?;
    let speeds = speeds(&each, seconds);
    for (second, speed) in &speeds {
        round.read_at("cpu.credit.speed", &[*second as i64], *speed);
    }
    match step::find(&speeds.iter().map(|(_, speed)| *speed).collect::<Vec<_>>()) {
        Some(step) => {
            round.read("cpu.credit.step", step.ratio);
            let time = speeds[step.at].0 as i64 * SECOND_NS;
            round.read("cpu.credit.time_to_step", time as f64);
        }
        None => round.read("cpu.credit.step", 1.0),
    }
    Ok(())
}

/// What one CPU did in one second.
#[derive(Clone, Copy)]
struct Done {
    additions: u64,
    /// Time in which it could.
    given_ns: i64,
}

/// Keeps a CPU busy, second by second.
fn work(start: i64, seconds: usize) -> Vec<Done> {
    let mut done = Vec::with_capacity(seconds);
    for second in 1..=seconds as i64 {
        let (began, waited) = (clock::monotonic(), waited_ns());
        let mut additions = 0;
        while clock::monotonic() < start + second * SECOND_NS {
            adds(ADDITIONS);
            additions += ADDITIONS;
        }
        let waited = waited_ns()
            .zip(waited)
            .map_or(0, |(end, start)| end - start);
        let given_ns = clock::monotonic() - began - waited;
        done.push(Done {
            additions,
            given_ns,
        });
    }
    done
}

/// Speed of all CPUs together in those seconds in which they had a `LEAST_GIVEN` of the time.
fn speeds(each: &[Vec<Done>], seconds: usize) -> Vec<(usize, f64)> {
    let speed = |second: usize| {
        let done = || each.iter().map(|cpu| cpu[second]);
        let additions: u64 = done().map(|done| done.additions).sum();
        let given: i64 = done().map(|done| done.given_ns).sum();
        let enough = given as f64 >= LEAST_GIVEN * (SECOND_NS * each.len() as i64) as f64;
        enough.then(|| {
            (
                second,
                additions as f64 * 1e9 / given as f64 * each.len() as f64,
            )
        })
    };
    (0..seconds).filter_map(speed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_others_of_the_machine_had_does_not_count() {
        let full = Done {
            additions: 3_000_000_000,
            given_ns: SECOND_NS,
        };
        let third = Done {
            additions: 1_000_000_000,
            given_ns: SECOND_NS / 3,
        };
        let none = Done {
            additions: 0,
            given_ns: 1_000,
        };
        let each = [
            vec![full, full, none, third],
            vec![full, third, none, third],
        ];
        let speeds = speeds(&each, 4);
        let seconds: Vec<_> = speeds.iter().map(|(second, _)| *second).collect();
        assert_eq!(
            seconds,
            [0, 1, 3],
            "nothing is known of a second that others had"
        );
        for (second, speed) in speeds {
            assert!((speed / 6e9 - 1.0).abs() < 1e-6, "second {second}: {speed}");
        }
    }
}
