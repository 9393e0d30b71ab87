//! What a busy neighbour takes from a CPU: the other thread of its core, and another core.

use std::arch::asm;
use std::fs;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use sys::topology;

use crate::affinity::pin;
use crate::probe::{Better, Metric, Need, Probe, Round, Seconds};
use crate::timing::{at_once, windows};

const fn ratio(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "1",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.05,
    }
}

pub const PROBE: Probe = Probe {
    name: "cpu.smt",
    title: "neighbours of a core",
    question: "How much slower is a CPU when its core's other thread, or another core, works?",
    source: None,
    metrics: &[
        ratio(
            "cpu.smt.slowdown",
            "time that eight independent chains of additions take while the core's other thread \
             performs the same, as a multiple of the time alone: about the worst that siblings do \
             to each other; median of windows by the least of those alone",
        ),
        ratio(
            "cpu.smt.neighbour",
            "the same with another core busy instead. Well above 1 in a virtual machine, its CPUs \
             are threads of the same core in truth; a little above, the CPU runs slower with more \
             cores busy",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.15),
        whole: Some(0.5),
    },
    repeats: true,
    needs: &[Need::SeveralCpus],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    let home = round.home();
    let siblings = siblings(home)?;
    let others = || round.cpus.iter().copied().filter(|cpu| *cpu != home);
    let sibling = others().find(|cpu| siblings.contains(cpu));
    let neighbour = others().find(|cpu| !siblings.contains(cpu));
    let share = round.budget_ns() / 3;
    pin(home)?;
    let alone = windows(share, additions).least;
    for (metric, other, missing) in [
        (
            "cpu.smt.slowdown",
            sibling,
            "this machine shows no SMT siblings",
        ),
        (
            "cpu.smt.neighbour",
            neighbour,
            "there is no second core to be used",
        ),
    ] {
        match other {
            Some(other) => round.read(metric, beside(home, other, share)? / alone),
            None => round.unavailable(metric, missing),
        }
    }
    Ok(())
}

/// Nanoseconds an addition while another CPU performs the same.
fn beside(home: u32, other: u32, budget_ns: i64) -> Result<f64, String> {
    let ended = AtomicBool::new(false);
    let found = at_once(&[home, other], |index| {
        if index == 0 {
            let median = windows(budget_ns, additions).median;
            ended.store(true, Release);
            return median;
        }
        while !ended.load(Acquire) {
            additions(10_000);
        }
        0.0
    })?;
    Ok(found[0])
}

/// CPUs of a core, from sysfs; none: it does not tell of siblings.
fn siblings(cpu: u32) -> Result<Vec<u32>, String> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
    let text = ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .find_map(|name| fs::read_to_string(format!("{folder}/{name}")).ok())
        .ok_or_else(|| format!("{folder} does not tell which CPUs share a core"))?;
    Ok(topology::list(&text))
}

/// Chains in a row between two branches, eight additions each.
const ROW: u64 = 16;

/// So many additions (a multiple of 8 × `ROW`, at least one), in eight chains that do not wait for
/// each other: as many at a time as the core has units for.
fn additions(additions: u64) {
    let mut sums = [0_u64; 8];
    let [a, b, c, d, e, f, g, h] = &mut sums;
    for _ in 0..additions.div_ceil(8 * ROW) {
        // SAFETY: touches nothing but the registers that it names.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                ".rept 16",
                "add {a}, {one}", "add {b}, {one}", "add {c}, {one}", "add {d}, {one}",
                "add {e}, {one}", "add {f}, {one}", "add {g}, {one}", "add {h}, {one}",
                ".endr",
                one = in(reg) 1_u64,
                a = inout(reg) *a, b = inout(reg) *b, c = inout(reg) *c, d = inout(reg) *d,
                e = inout(reg) *e, f = inout(reg) *f, g = inout(reg) *g, h = inout(reg) *h,
                options(nomem, nostack),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                ".rept 16",
                "add {a}, {a}, {one}", "add {b}, {b}, {one}", "add {c}, {c}, {one}",
                "add {d}, {d}, {one}", "add {e}, {e}, {one}", "add {f}, {f}, {one}",
                "add {g}, {g}, {one}", "add {h}, {h}, {one}",
                ".endr",
                one = in(reg) 1_u64,
                a = inout(reg) *a, b = inout(reg) *b, c = inout(reg) *c, d = inout(reg) *d,
                e = inout(reg) *e, f = inout(reg) *f, g = inout(reg) *g, h = inout(reg) *h,
                options(nomem, nostack),
            );
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        for sum in [&mut *a, b, c, d, e, f, g, h] {
            (0..ROW).for_each(|_| *sum += black_box(1));
        }
    }
    black_box(sums);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_there_as_long_as_it_is_measured_beside() {
        let cpus = topology::usable().unwrap();
        let beside = beside(cpus[0], *cpus.last().unwrap(), 1_000_000).unwrap();
        assert!(beside > 0.0);
        assert!(super::beside(cpus[0], 16_383, 1).is_err());
    }
}
