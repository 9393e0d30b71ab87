//! Finds the one step down in a course of speeds, second by second, if there is one.
//!
//! The course is cut where two constants (medians, so that bursts do not count) fit it best. The
//! cut is a step only if all of this holds:
//! - the speed falls by a tenth or more, and by `NOISE` times the spread of seconds around the two
//!   constants (their median distance);
//! - it lasts: there are `LEAST` seconds on either side, and of either side's seconds, and of the
//!   last ones, at most one in ten lies on the other side of the middle between the constants. A
//!   dip that ends, however deep, leaves more on the wrong side, and so does one that comes and
//!   goes;
//! - two constants fit better than a straight line: what gets slower bit by bit (a CPU that gets
//!   warm, a host that fills) has no credit that runs out.

/// A step down that lasts.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The first speed after it.
    pub at: usize,
    /// Speed after it, as a multiple of the speed before.
    pub ratio: f64,
}

const LEAST: usize = 15;
const SMALLEST: f64 = 0.1;
const NOISE: f64 = 4.0;
const ASTRAY: f64 = 0.1;

/// The step down of a course, if it has one.
pub fn find(speeds: &[f64]) -> Option<Step> {
    let cuts = LEAST..(speeds.len() + 1).saturating_sub(LEAST);
    let (fits, cut) = cuts
        .map(|cut| (distance(speeds, cut), cut))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (before, after) = speeds.split_at(cut);
    let (high, low) = (median(before), median(after));
    let fall = high - low;
    let large = fall >= SMALLEST * high && fall >= NOISE * spread(before, after);
    let middle = (high + low) / 2.0;
    let end = &after[after.len() - LEAST..];
    let lasts = rare(before, |speed| speed < middle)
        && rare(after, |speed| speed > middle)
        && rare(end, |speed| speed > middle);
    (large && lasts && fits < distance_to_line(speeds)).then(|| Step {
        at: cut,
        ratio: low / high,
    })
}

/// Whether at most one second in ten is astray.
fn rare(seconds: &[f64], astray: impl Fn(f64) -> bool) -> bool {
    let found = seconds.iter().filter(|speed| astray(**speed)).count();
    found as f64 <= ASTRAY * seconds.len() as f64
}

/// How far seconds lie from the constant of their side, added up.
fn distance(speeds: &[f64], cut: usize) -> f64 {
    let (before, after) = speeds.split_at(cut);
    distances(before).chain(distances(after)).sum()
}

/// Median distance of a second from the constant of its side.
fn spread(before: &[f64], after: &[f64]) -> f64 {
    median(
        &distances(before)
            .chain(distances(after))
            .collect::<Vec<_>>(),
    )
}

fn distances(side: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let constant = median(side);
    side.iter().map(move |speed| (speed - constant).abs())
}

/// How far seconds lie from a straight line: the median of all slopes, so that bursts do not
/// count here either.
fn distance_to_line(speeds: &[f64]) -> f64 {
    let slopes: Vec<f64> = (0..speeds.len())
        .flat_map(|a| (a + 1..speeds.len()).map(move |b| (a, b)))
        .map(|(a, b)| (speeds[b] - speeds[a]) / (b - a) as f64)
        .collect();
    let slope = median(&slopes);
    let level: Vec<f64> = speeds
        .iter()
        .enumerate()
        .map(|(second, speed)| speed - slope * second as f64)
        .collect();
    distances(&level).sum()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::{RngCore, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const SECONDS: usize = 150;

    /// A course with noise of a relative standard deviation.
    fn course(noise: f64, seed: u64, speed: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut normal = || {
            let uniform = |random: &mut Pcg64Mcg| random.next_u64() as f64 / u64::MAX as f64;
            (0..12).map(|_| uniform(&mut random)).sum::<f64>() - 6.0
        };
        (0..SECONDS)
            .map(|second| 7e9 * speed(second) * (1.0 + noise * normal()))
            .collect()
    }

    fn none(what: &str, noise: f64, speed: impl Fn(usize) -> f64) {
        for seed in 0..10 {
            let found = find(&course(noise, seed, &speed));
            assert_eq!(found, None, "{what}, noise {noise}, seed {seed}");
        }
    }

    #[test]
    fn a_constant_speed_has_no_step() {
        for noise in [0.0, 0.01, 0.1, 0.3] {
            none("constant", noise, |_| 1.0);
        }
    }

    #[test]
    fn a_credit_that_runs_out_is_found() {
        for (at, ratio) in [(20, 0.1), (75, 0.5), (130, 0.2), (90, 0.85)] {
            for seed in 0..10 {
                let speed = |second| if second < at { 1.0 } else { ratio };
                let found = find(&course(0.02, seed, speed)).unwrap();
                assert!(found.at.abs_diff(at) <= 2, "{} for {at}", found.at);
                assert!((found.ratio - ratio).abs() < 0.02, "{}", found.ratio);
            }
        }
    }

    #[test]
    fn a_step_is_found_beside_seconds_that_were_stolen() {
        for seed in 0..10 {
            let speed = |second: usize| match second {
                30..34 | 120 => 0.1,
                0..80 => 1.0,
                _ => 0.3,
            };
            let found = find(&course(0.05, seed, speed)).unwrap();
            assert!(found.at.abs_diff(80) <= 1, "{}", found.at);
        }
    }

    #[test]
    fn a_dip_that_ends_is_no_step() {
        for length in [5, 20, 40, 70, 100] {
            let speed = |second: usize| match second >= 40 && second < 40 + length {
                true => 0.4,
                false => 1.0,
            };
            for noise in [0.0, 0.05] {
                none("dip", noise, speed);
            }
        }
    }

    #[test]
    fn a_neighbour_that_comes_and_goes_is_no_step() {
        for period in [10, 24, 50] {
            none("neighbour", 0.03, |second| {
                if second / (period / 2) % 2 == 0 {
                    1.0
                } else {
                    0.6
                }
            });
        }
    }

    #[test]
    fn what_gets_slower_bit_by_bit_has_no_step() {
        for end in [0.9, 0.7, 0.3] {
            for noise in [0.0, 0.02, 0.1] {
                none("drift", noise, |second| {
                    1.0 - (1.0 - end) * second as f64 / SECONDS as f64
                });
            }
        }
    }

    #[test]
    fn a_load_that_wanders_has_no_step() {
        for seed in 0..20 {
            let mut load = 0.0;
            let course: Vec<f64> = course(1.0, seed, |_| 1.0)
                .iter()
                .map(|normal| {
                    // Each second resembles the one before: correlation 0.9, deviation 0.1.
                    load = 0.9 * load + 0.0436 * (normal / 7e9 - 1.0);
                    1.0 + load
                })
                .collect();
            assert_eq!(find(&course), None, "seed {seed}");
        }
    }

    #[test]
    fn a_step_up_is_none() {
        none("up", 0.02, |second| if second < 60 { 0.5 } else { 1.0 });
    }

    #[test]
    fn too_short_a_course_has_no_step() {
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[2.0, 1.0]), None);
        assert_eq!(find(&vec![1.0; 2 * LEAST]), None);
    }
}
