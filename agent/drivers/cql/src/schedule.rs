//! Which operation starts when: computed before the first one, from a seed.

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// All are kept until the end, with about 70 bytes each.
const MOST_OPERATIONS: f64 = 5e6;
const NS: f64 = 1e9;

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At the same distance of each other.
    Constant,
    /// As a Poisson process of this rate of which it is known how many there were: at as many
    /// times, each anywhere. With a number that varied, the rate would not be the one asked for.
    Poisson,
}

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Operations a second.
    pub rate: f64,
    pub seconds: f64,
    pub arrivals: Arrivals,
    /// Share of operations that write.
    pub writes: f64,
    pub keys: u32,
}

/// One operation that is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    /// After the begin.
    pub intended_ns: u64,
    pub key: u32,
    pub writes: bool,
}

/// Computes all operations, in the order of their times.
pub fn compute(load: &Load, seed: u64) -> Result<Vec<Operation>, String> {
    let number = (load.rate * load.seconds).round().max(1.0);
    if number > MOST_OPERATIONS {
        return Err(format!(
            "{} operations a second for {} s are more than {MOST_OPERATIONS} in all, which is as \
             many as are kept; lower --rate or --seconds",
            load.rate, load.seconds
        ));
    }
    let number = number as usize;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let times = times(load, number, &mut random);
    let kinds = kinds(number, load.writes, &mut random);
    let operation = |(intended_ns, writes)| Operation {
        intended_ns,
        writes,
        key: below(load.keys, &mut random),
    };
    Ok(times.into_iter().zip(kinds).map(operation).collect())
}

/// Which operations write: as many as their share says, in random order.
fn kinds(number: usize, share: f64, random: &mut Pcg64Mcg) -> Vec<bool> {
    let writes = (number as f64 * share).round() as usize;
    let mut kinds: Vec<bool> = (0..number).map(|one| one < writes).collect();
    for last in (1..number).rev() {
        kinds.swap(last, below(last as u32 + 1, random) as usize);
    }
    kinds
}

/// Computes as many operations as come in some seconds before: others than those of the seed.
pub fn before(load: &Load, seed: u64, seconds: f64) -> Result<Vec<Operation>, String> {
    if seconds == 0.0 {
        return Ok(Vec::new());
    }
    compute(&Load { seconds, ..*load }, !seed)
}

fn times(load: &Load, number: usize, random: &mut Pcg64Mcg) -> Vec<u64> {
    match load.arrivals {
        // From the number of each: errors of a sum would grow.
        Arrivals::Constant => (0..number)
            .map(|index| (index as f64 * NS / load.rate).round() as u64)
            .collect(),
        Arrivals::Poisson => {
            let whole_ns = load.seconds * NS;
            let mut times: Vec<u64> = (0..number)
                .map(|_| (unit(random) * whole_ns) as u64)
                .collect();
            times.sort_unstable();
            times
        }
    }
}

/// Uniform in [0, 1): the 53 bits that a double holds exactly.
fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform in 0..limit (by multiplication; the bias is below limit / 2^64).
fn below(limit: u32, random: &mut Pcg64Mcg) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        rate: 1000.0,
        seconds: 10.0,
        arrivals: Arrivals::Constant,
        writes: 0.25,
        keys: 100,
    };

    #[test]
    fn a_constant_rate_has_equal_gaps_to_the_end() {
        let found = compute(&Load { rate: 3.0, ..LOAD }, 0).unwrap();
        assert_eq!(found.len(), 30);
        assert_eq!(found[0].intended_ns, 0);
        assert_eq!(found[1].intended_ns, 333_333_333);
        assert_eq!(found[29].intended_ns, 9_666_666_667);
    }

    #[test]
    fn the_seed_decides_everything() {
        let poisson = Load {
            arrivals: Arrivals::Poisson,
            ..LOAD
        };
        assert_eq!(compute(&poisson, 1), compute(&poisson, 1));
        assert_ne!(compute(&poisson, 1), compute(&poisson, 2));
        // Times of a constant rate are the same, kinds and keys are not.
        assert_ne!(compute(&LOAD, 1), compute(&LOAD, 2));
    }

    #[test]
    fn random_arrivals_have_exponential_gaps_and_the_rate() {
        let load = Load {
            arrivals: Arrivals::Poisson,
            ..LOAD
        };
        let found = compute(&load, 5).unwrap();
        assert_eq!(found.len(), 10_000);
        assert!(found.is_sorted_by_key(|one| one.intended_ns));
        assert!(found.last().unwrap().intended_ns < 10_000_000_000);
        let gaps: Vec<f64> = found
            .windows(2)
            .map(|pair| (pair[1].intended_ns - pair[0].intended_ns) as f64 / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        // Of an exponential distribution, both are the same.
        assert!((variance.sqrt() - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn writes_have_their_share_and_keys_are_all_used() {
        let found = compute(&LOAD, 3).unwrap();
        let writes = found.iter().filter(|one| one.writes).count();
        assert_eq!(writes, 2500);
        let early = found[..5000].iter().filter(|one| one.writes).count();
        assert!((1100..1400).contains(&early), "{early}");
        let mut uses = [0; 100];
        found.iter().for_each(|one| uses[one.key as usize] += 1);
        assert!(uses.iter().all(|count| (50..160).contains(count)));
        for (share, expected) in [(0.0, 0), (1.0, 10_000)] {
            let all = compute(
                &Load {
                    writes: share,
                    ..LOAD
                },
                3,
            )
            .unwrap();
            assert_eq!(all.iter().filter(|one| one.writes).count(), expected);
        }
    }

    #[test]
    fn what_comes_before_has_the_same_rate_and_other_keys() {
        let before = before(&LOAD, 1, 2.0).unwrap();
        assert_eq!(before.len(), 2000);
        let keys = |some: &[Operation]| some.iter().map(|one| one.key).collect::<Vec<_>>();
        assert_ne!(keys(&before), keys(&compute(&LOAD, 1).unwrap()[..2000]));
        assert!(super::before(&LOAD, 1, 0.0).unwrap().is_empty());
    }

    #[test]
    fn there_is_at_least_one_and_no_more_than_memory_holds() {
        let few = Load {
            rate: 0.01,
            seconds: 1.0,
            ..LOAD
        };
        assert_eq!(compute(&few, 0).unwrap().len(), 1);
        let many = Load { rate: 1e6, ..LOAD };
        assert!(compute(&many, 0)
            .unwrap_err()
            .contains("lower --rate or --seconds"));
    }
}
