//! What a branch costs whose direction was foretold wrongly, and how long a pattern is learnt.

use rand_pcg::rand_core::RngCore;

use crate::affinity::pin;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::timing::windows;

pub const PROBE: Probe = Probe {
    name: "branch",
    title: "branches foretold wrongly",
    question: "What does a wrong guess cost, and how long a pattern does the CPU learn?",
    source: None,
    metrics: &[
        Metric {
            name: "branch.mispredict",
            unit: "ns",
            meaning: "a branch foretold wrongly: what a branch takes on a million random bits, \
                      less what it takes on the same bits sorted, by the half of them that are \
                      foretold wrongly; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "branch.pattern",
            unit: "ns",
            meaning:
                "a branch, and the loop around it, on a random pattern that repeats: it rises \
                      where the pattern is longer than what the CPU can learn; least of windows",
            axes: &[Axis {
                name: "period",
                unit: "1",
                meaning: "branches after which the pattern repeats, half of them taken",
            }],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.25),
        whole: Some(0.6),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Beyond what any CPU learns, which is some ten thousands at most.
const UNLEARNABLE: usize = 1 << 20;
/// Shorter patterns are laid end to end, so that the way back to the start is rare.
const LAID: usize = 1 << 14;
const LONGEST: usize = 1 << 18;

fn perform(round: &Round) -> Result<(), String> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err("its branches are written for x86-64 and AArch64 only".to_string());
    }
    pin(round.home())?;
    let mut random = round.random();
    let periods: Vec<_> = (1..)
        .map(|bits| 1 << bits)
        .take_while(|p| *p <= LONGEST)
        .collect();
    let share = round.budget_ns() / (periods.len() as i64 + 4);
    let mut shuffled = shuffled(UNLEARNABLE, &mut random);
    let mispredicted = Walk::over(shuffled.clone()).least(2 * share);
    shuffled.sort_unstable();
    let foretold = Walk::over(shuffled).least(2 * share);
    round.read("branch.mispredict", (mispredicted - foretold) / 0.5);
    for period in periods {
        let pattern = self::shuffled(period, &mut random).repeat((LAID / period).max(1));
        let least = Walk::over(pattern).least(share);
        round.read_at("branch.pattern", &[period as i64], least);
    }
    Ok(())
}

/// As many zeros as ones, in random order.
fn shuffled(length: usize, random: &mut impl RngCore) -> Vec<u8> {
    let mut bits: Vec<u8> = (0..length).map(|place| (place % 2) as u8).collect();
    for place in (1..length).rev() {
        // The bias of a remainder is below one in 2^40 here.
        bits.swap(place, (random.next_u64() % (place as u64 + 1)) as usize);
    }
    bits
}

/// Branches on one element of a pattern after the other, over and over.
struct Walk {
    /// With the first one again at the end, since one is always read ahead.
    pattern: Vec<u8>,
    at: usize,
}

impl Walk {
    fn over(mut pattern: Vec<u8>) -> Self {
        pattern.push(pattern[0]);
        Self { pattern, at: 0 }
    }

    /// Nanoseconds a branch.
    fn least(mut self, budget_ns: i64) -> f64 {
        self.go(4 * self.pattern.len() as u64); // until it has been learnt
        windows(budget_ns, |branches| {
            self.go(branches);
        })
        .least
    }

    /// So many branches; returns how many were taken.
    fn go(&mut self, mut branches: u64) -> u64 {
        let length = self.pattern.len() - 1;
        let mut taken = 0;
        while branches > 0 {
            let count = (length - self.at).min(branches as usize);
            taken += branch_on(&self.pattern[self.at..=self.at + count]);
            self.at = (self.at + count) % length;
            branches -= count as u64;
        }
        taken
    }
}

/// Branches on every element but the last, which is only read: each is loaded before the branch
/// on the one before it, so that a wrong guess costs nothing but itself. Returns how many
/// branches were taken.
fn branch_on(elements: &[u8]) -> u64 {
    let [first, .., _] = elements else { return 0 };
    let mut place: *const u8 = first;
    let last = elements.as_ptr_range().end.wrapping_sub(1);
    let mut fallen = 0_u64;
    // SAFETY: reads from the first to the last element.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "movzx {element:e}, byte ptr [{place}]",
            ".p2align 6",
            "2: test {element:e}, {element:e}",
            "movzx {element:e}, byte ptr [{place} + 1]",
            "jnz 3f",
            "add {fallen}, 1",
            "3: add {place}, 1",
            "cmp {place}, {last}",
            "jne 2b",
            element = out(reg) _,
            place = inout(reg) place,
            last = in(reg) last,
            fallen = inout(reg) fallen,
            options(readonly, nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "ldrb {element:w}, [{place}]",
            ".p2align 6",
            "2: mov {before:w}, {element:w}",
            "ldrb {element:w}, [{place}, #1]",
            "cbnz {before:w}, 3f",
            "add {fallen}, {fallen}, #1",
            "3: add {place}, {place}, #1",
            "cmp {place}, {last}",
            "b.ne 2b",
            element = out(reg) _,
            before = out(reg) _,
            place = inout(reg) place,
            last = in(reg) last,
            fallen = inout(reg) fallen,
            options(readonly, nostack),
        );
    }
    debug_assert_eq!(place, last);
    elements.len() as u64 - 1 - fallen
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn half_of_a_pattern_is_taken_in_whatever_order() {
        let random = &mut Pcg64Mcg::seed_from_u64(1);
        for length in [2, 64, 4096] {
            let pattern = shuffled(length, random);
            assert_eq!(
                pattern.iter().map(|bit| usize::from(*bit)).sum::<usize>(),
                length / 2
            );
            assert_eq!(
                Walk::over(pattern).go(10 * length as u64),
                5 * length as u64
            );
        }
    }

    #[test]
    fn branches_follow_the_pattern_element_by_element() {
        let pattern = vec![1, 0, 0, 1, 1, 0, 1];
        let mut walk = Walk::over(pattern.clone());
        for turn in 0..20 {
            let expected = u64::from(pattern[turn % pattern.len()]);
            assert_eq!(walk.go(1), expected, "branch {turn}");
        }
        assert_eq!(walk.go(0), 0);
    }
}
