//! Whether the CPUs stay as fast as they are at first under full load: providers let virtual
//! machines run at full speed only as long as their credit lasts. Such a machine steps down and
//! stays down, which tells it from a neighbour's burst and from a CPU that gets warm.

mod step;

use crate::clock;
use crate::probes::empty_loop::adds;
use crate::probes::timing::at_once;
use crate::probes::{Axis, Better, Metric, Probe, Round, Seconds};

pub const PROBE: Probe = Probe {
    name: "cpu.credit",
    title: "speed under minutes of full load",
    question: "Does the speed step down when all CPUs have been busy for minutes?",
    source: Some("CLOUDNET F5.2: providers shape the CPU as well"),
    metrics: &[
        Metric {
            name: "cpu.credit.speed",
            unit: "Hz",
            meaning: "dependent additions a second, all usable CPUs together, all of them busy",
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

fn perform(round: &Round) -> Result<(), String> {
    let seconds = (round.budget_ns() / SECOND_NS) as usize;
    let start = clock::monotonic();
    let each = at_once(&round.cpus, |_| count(start, seconds))?;
    // Additions of one second, all CPUs together.
    let speeds: Vec<f64> = (0..seconds)
        .map(|second| each.iter().map(|counts| counts[second] as f64).sum())
        .collect();
    for (second, speed) in speeds.iter().enumerate() {
        round.read_at("cpu.credit.speed", &[second as i64], *speed);
    }
    match step::find(&speeds) {
        Some(step) => {
            round.read("cpu.credit.step", step.ratio);
            let time = step.second as i64 * SECOND_NS;
            round.read("cpu.credit.time_to_step", time as f64);
        }
        None => round.read("cpu.credit.step", 1.0),
    }
    Ok(())
}

/// Keeps a CPU busy and counts its additions second by second.
fn count(start: i64, seconds: usize) -> Vec<u64> {
    let mut counts = vec![0; seconds];
    loop {
        adds(ADDITIONS);
        let second = (clock::monotonic() - start) / SECOND_NS;
        match counts.get_mut(second as usize) {
            Some(count) => *count += ADDITIONS,
            None => return counts,
        }
    }
}
