//! What a reading of each clock costs.

use std::hint::black_box;

use crate::clock;
use crate::probes::timing::windows;
use crate::probes::{pin, Better, Metric, Probe, Round, Seconds};

pub const PROBE: Probe = Probe {
    name: "clock",
    title: "reading a clock",
    question: "What does it cost to look at the clock, and how?",
    source: Some("SYSMEASURE, measurement overhead"),
    metrics: &[Metric {
        name: "clock.vdso",
        unit: "ns",
        meaning: "clock_gettime(CLOCK_MONOTONIC) without entering the kernel; least of windows",
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }],
    seconds: Seconds {
        brief: Some(0.03),
        quick: Some(0.1),
        whole: Some(0.2),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let vdso = windows(round.budget_ns(), |operations| {
        for _ in 0..operations {
            black_box(clock::monotonic());
        }
    });
    round.read("clock.vdso", vdso.least);
    Ok(())
}
