//! Which operations there are, from a seed; and when those of an open load start, before the first.

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// All are kept until the end, with about 70 bytes each.
pub const MOST_OPERATIONS: usize = 5_000_000;
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

/// What decides when operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Starts {
    /// A number of operations a second, whatever became of the earlier ones.
    Open { rate: f64, arrivals: Arrivals },
    /// Each user starts an operation when its last one has ended.
    Closed { users: u32 },
}

/// Load on the server: when requests start, for how long, and which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub starts: Starts,
    pub seconds: f64,
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

/// Operations of a closed load, without end: kinds and keys are drawn one by one.
pub struct Draws {
    load: Load,
    random: Pcg64Mcg,
}

impl Draws {
    pub fn new(load: Load, seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { load, random }
    }

    /// The next operation, which starts now.
    pub fn next(&mut self, now_ns: u64) -> Operation {
        Operation {
            intended_ns: now_ns,
            writes: unit(&mut self.random) < self.load.writes,
            key: below(self.load.keys, &mut self.random),
        }
    }
}

/// Computes all operations of an open load, in the order of their times.
pub fn compute(
    load: &Load,
    rate: f64,
    arrivals: Arrivals,
    seed: u64,
) -> Result<Vec<Operation>, String> {
    let number = (rate * load.seconds).round().max(1.0);
    if number > MOST_OPERATIONS as f64 {
        return Err(format!(
            "{rate} operations a second for {} s are more than {MOST_OPERATIONS} in all, which is \
             as many as are kept; lower --rate or --seconds",
            load.seconds
        ));
    }
    let number = number as usize;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let times = times(load.seconds, rate, arrivals, number, &mut random);
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

fn times(
    seconds: f64,
    rate: f64,
    arrivals: Arrivals,
    number: usize,
    random: &mut Pcg64Mcg,
) -> Vec<u64> {
    match arrivals {
        // From the number of each: errors of a sum would grow.
        Arrivals::Constant => (0..number)
            .map(|index| (index as f64 * NS / rate).round() as u64)
            .collect(),
        Arrivals::Poisson => {
            let whole_ns = seconds * NS;
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
        starts: Starts::Closed { users: 1 },
        seconds: 10.0,
        writes: 0.25,
        keys: 100,
    };

    fn constant(load: Load, seed: u64) -> Vec<Operation> {
        compute(&load, 1000.0, Arrivals::Constant, seed).unwrap()
    }

    #[test]
    fn a_constant_rate_has_equal_gaps_to_the_end() {
        let found = compute(&LOAD, 3.0, Arrivals::Constant, 0).unwrap();
        assert_eq!(found.len(), 30);
        assert_eq!(found[0].intended_ns, 0);
        assert_eq!(found[1].intended_ns, 333_333_333);
        assert_eq!(found[29].intended_ns, 9_666_666_667);
    }

    #[test]
    fn the_seed_decides_everything() {
        let poisson = |seed| compute(&LOAD, 1000.0, Arrivals::Poisson, seed).unwrap();
        assert_eq!(poisson(1), poisson(1));
        assert_ne!(poisson(1), poisson(2));
        // Times of a constant rate are the same, kinds and keys are not.
        assert_ne!(constant(LOAD, 1), constant(LOAD, 2));
    }

    #[test]
    fn random_arrivals_have_exponential_gaps_and_the_rate() {
        let found = compute(&LOAD, 1000.0, Arrivals::Poisson, 5).unwrap();
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
        let found = constant(LOAD, 3);
        let writes = found.iter().filter(|one| one.writes).count();
        assert_eq!(writes, 2500);
        let early = found[..5000].iter().filter(|one| one.writes).count();
        assert!((1100..1400).contains(&early), "{early}");
        let mut uses = [0; 100];
        found.iter().for_each(|one| uses[one.key as usize] += 1);
        assert!(uses.iter().all(|count| (50..160).contains(count)));
        for (share, expected) in [(0.0, 0), (1.0, 10_000)] {
            let writes = share;
            let all = constant(Load { writes, ..LOAD }, 3);
            assert_eq!(all.iter().filter(|one| one.writes).count(), expected);
        }
    }

    #[test]
    fn a_closed_load_draws_kinds_in_their_share_from_all_keys() {
        let mut draws = Draws::new(LOAD, 3);
        let found: Vec<Operation> = (0..10_000).map(|now| draws.next(now)).collect();
        assert_eq!(found[7].intended_ns, 7);
        let writes = found.iter().filter(|one| one.writes).count();
        // The standard deviation of the number is 43.
        assert!((2300..2700).contains(&writes), "{writes}");
        let mut uses = [0; 100];
        found.iter().for_each(|one| uses[one.key as usize] += 1);
        assert!(uses.iter().all(|count| (50..160).contains(count)));
        let mut again = Draws::new(LOAD, 3);
        assert!(found
            .iter()
            .enumerate()
            .all(|(now, one)| again.next(now as u64) == *one));
        assert!((0..100).any(|now| Draws::new(LOAD, 4).next(now) != found[now as usize]));
    }

    #[test]
    fn there_is_at_least_one_and_no_more_than_memory_holds() {
        let seconds = 1.0;
        let few = compute(&Load { seconds, ..LOAD }, 0.01, Arrivals::Constant, 0);
        assert_eq!(few.unwrap().len(), 1);
        assert!(compute(&LOAD, 1e6, Arrivals::Constant, 0)
            .unwrap_err()
            .contains("lower --rate or --seconds"));
    }
}
