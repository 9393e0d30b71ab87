//! A loop that does nothing, and a chain of additions that wait for each other.

use std::arch::asm;

use sys::addition_chain::adds;

use crate::affinity::pin;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::timing::windows;

pub const PROBE: Probe = Probe {
    name: "loop",
    title: "an empty loop and a chain of additions",
    question: "What does a loop cost by itself, and how fast does the CPU really run?",
    source: Some("SYSMEASURE, measurement overhead; lmbench loop_o and mhz"),
    metrics: &[
        Metric {
            name: "loop.empty",
            unit: "ns",
            meaning: "one iteration of a loop of nothing but its counter and its branch; least \
                      of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.05,
        },
        Metric {
            name: "loop.dependent_add",
            unit: "ns",
            meaning: "one addition of two registers that waits for the one before, which is one \
                      cycle; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.03,
        },
        Metric {
            name: "loop.effective_frequency",
            unit: "Hz",
            meaning: "additions a second in that chain, which is the speed at which the CPU runs \
                      (one core busy) as long as an addition takes one cycle; best of windows",
            axes: &[],
            listed: false,
            better: Better::Higher,
            margin: 0.03,
        },
    ],
    seconds: Seconds {
        brief: Some(0.02),
        quick: Some(0.05),
        whole: Some(0.1),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let budget = round.budget_ns() / 2;
    round.read("loop.empty", windows(budget, empty).least);
    let add = windows(budget, adds).least;
    round.read("loop.dependent_add", add);
    round.read("loop.effective_frequency", 1e9 / add);
    Ok(())
}

/// The loop is written out, so that no compiler unrolls it or keeps its counter in memory.
pub(super) fn empty(iterations: u64) {
    // SAFETY: touches nothing but the registers that it names.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            ".p2align 6",
            "2: sub {left}, 1",
            "jnz 2b",
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            ".p2align 6",
            "2: subs {left}, {left}, #1",
            "b.ne 2b",
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    for _ in 0..iterations {
        // SAFETY: there is nothing in it.
        unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
    }
}
