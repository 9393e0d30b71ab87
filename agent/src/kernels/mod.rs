//! Built-in workloads, one file each with one constant that describes it.
//!
//! A kernel generates and touches its input in `prepare`, outside any timed region, and hands
//! back what is to be timed: a function that does the work a number of times over and returns
//! a digest of *all* its results, so that nothing can be elided.

mod bsearch;
mod exp_double;
mod exp_float;
mod gray2bin;
mod input;
mod insertion_sort;
mod linpack;
mod null;
mod qsort;
mod steps;
mod triad;

use std::collections::BTreeMap;
use std::hint::black_box;

use rand_pcg::rand_core::RngCore;
use serde::Serialize;

use input::{fits, generate, room, unit, up_to};
pub use steps::{Step, Steps};

/// Every kernel, in order of name. A new one needs a line here and its `mod` above.
pub const KERNELS: &[&Kernel] = &[
    &bsearch::KERNEL,
    &exp_double::KERNEL,
    &exp_float::KERNEL,
    &gray2bin::KERNEL,
    &insertion_sort::KERNEL,
    &linpack::KERNEL,
    &null::KERNEL,
    &qsort::KERNEL,
    &triad::KERNEL,
];

/// A built-in workload, as it describes itself.
#[derive(Serialize)]
pub struct Kernel {
    pub name: &'static str,
    /// One line: what it does.
    pub title: &'static str,
    /// What it is there to find out.
    pub question: &'static str,
    pub source: Option<&'static str>,
    pub parameters: &'static [Parameter],
    /// What its work is counted in: `flop`, `byte`, or `execution` where nothing finer is told.
    pub work: &'static str,
    /// Checks the parameters and makes the input that the seed stands for.
    #[serde(skip)]
    pub prepare: fn(&BTreeMap<String, u64>, u64) -> Result<Execution, String>,
    /// The same, to be done in small steps; absent: an execution is a step.
    #[serde(skip)]
    pub stepwise: Option<Stepwise>,
}

pub type Stepwise = fn(&BTreeMap<String, u64>, u64) -> Result<Box<dyn Steps>, String>;

impl Kernel {
    /// The prepared work in steps, over and over.
    pub fn steps(
        &self,
        given: &BTreeMap<String, u64>,
        seed: u64,
    ) -> Result<Box<dyn Steps>, String> {
        match self.stepwise {
            Some(begin) => begin(given, seed),
            None => Ok(steps::executions((self.prepare)(given, seed)?)),
        }
    }
}

/// One parameter of a kernel; all are whole numbers.
#[derive(Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub meaning: &'static str,
    pub unit: Option<&'static str>,
    pub default: u64,
    /// Inclusive range.
    pub minimum: u64,
    pub maximum: u64,
}

pub type Execution = Box<dyn Execute>;

/// Prepared work.
pub trait Execute {
    /// Does it so many times over and returns a digest of its results.
    fn execute(&mut self, repetitions: u64) -> u64;

    /// Largest scaled residual so far; absent where a kernel does not check itself.
    fn residual(&self) -> Option<f64> {
        None
    }
}

impl<F: FnMut(u64) -> u64> Execute for F {
    fn execute(&mut self, repetitions: u64) -> u64 {
        self(repetitions)
    }
}

/// What an execution that came to a wrong result unwinds with: what is wrong, and its figures.
pub struct Wrong(pub String);

/// The kernel of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().copied().find(|kernel| kernel.name == name)
}

/// Values of a kernel's parameters in the order in which it lists them, defaults filled in.
fn values<const N: usize>(
    kernel: &Kernel,
    given: &BTreeMap<String, u64>,
) -> Result<[u64; N], String> {
    if let Some(unknown) = given
        .keys()
        .find(|name| kernel.parameters.iter().all(|p| p.name != **name))
    {
        let known: Vec<_> = kernel.parameters.iter().map(|p| p.name).collect();
        return Err(format!(
            "kernel {} has no parameter {unknown}; it has: {}",
            kernel.name,
            if known.is_empty() {
                "none".to_string()
            } else {
                known.join(", ")
            }
        ));
    }
    let mut values = [0; N];
    assert_eq!(
        kernel.parameters.len(),
        N,
        "kernel {} reads all its parameters",
        kernel.name
    );
    for (value, parameter) in values.iter_mut().zip(kernel.parameters) {
        *value = *given.get(parameter.name).unwrap_or(&parameter.default);
        if !(parameter.minimum..=parameter.maximum).contains(value) {
            return Err(format!(
                "parameter {} of kernel {} is {value}, but goes from {} to {}",
                parameter.name, kernel.name, parameter.minimum, parameter.maximum
            ));
        }
    }
    Ok(values)
}

/// Sorts a fresh copy of the same input in every repetition; the copy is part of the work,
/// about a hundredth of it at STABILITY's sizes.
fn sorting(size: u64, seed: u64, sort: fn(&mut [u32])) -> Result<Execution, String> {
    let input = generate(size, seed, |random| random.next_u32())?;
    let mut items = room(size)?;
    items.extend_from_slice(&input);
    Ok(Box::new(move |repetitions: u64| {
        (0..repetitions).fold(0, |sum, _| {
            items.copy_from_slice(black_box(&input));
            sort(&mut items);
            items
                .iter()
                .fold(sum, |sum, &item| digest(sum, u64::from(item)))
        })
    }))
}

/// Takes one more result into a digest, in which order and number matter: the results are the
/// coefficients of a polynomial, taken at `FACTOR`.
fn digest(sum: u64, result: u64) -> u64 {
    sum.wrapping_mul(FACTOR).wrapping_add(result)
}

/// Odd, so that no result is ever shifted out; its bits are those of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const SIZE: u64 = 100;

    /// Every kernel, small: its first parameter is the number of its results.
    fn small(kernel: &Kernel, seed: u64) -> Execution {
        let given = kernel
            .parameters
            .iter()
            .map(|p| (p.name.to_string(), SIZE))
            .collect();
        (kernel.prepare)(&given, seed).expect(kernel.name)
    }

    #[test]
    fn names_are_found_and_sorted() {
        assert!(KERNELS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for kernel in KERNELS {
            assert_eq!(find(kernel.name).unwrap().title, kernel.title);
        }
        assert!(find("nothing").is_none());
    }

    #[test]
    fn the_seed_decides_the_results() {
        for kernel in KERNELS {
            let digests = [1, 1, 2].map(|seed| small(kernel, seed).execute(1));
            assert_eq!(digests[0], digests[1], "{}", kernel.name);
            assert_ne!(digests[0], digests[2], "{}", kernel.name);
        }
    }

    #[test]
    fn repetitions_take_in_every_result_each_time() {
        for kernel in KERNELS {
            let results = if kernel.parameters.is_empty() {
                1
            } else {
                SIZE
            };
            let shift = (0..results).fold(1_u64, |power, _| power.wrapping_mul(FACTOR));
            let mut prepared = small(kernel, 7);
            let once = prepared.execute(1);
            assert_ne!(once, 0, "{}", kernel.name);
            assert_eq!(prepared.execute(0), 0, "{}", kernel.name);
            let twice = once.wrapping_mul(shift).wrapping_add(once);
            assert_eq!(prepared.execute(2), twice, "{}", kernel.name);
            let thrice = twice.wrapping_mul(shift).wrapping_add(once);
            assert_eq!(prepared.execute(3), thrice, "{}", kernel.name);
        }
    }

    #[test]
    fn steps_complete_executions_and_tell_their_work() {
        for kernel in KERNELS {
            let given = (kernel.parameters.iter())
                .map(|p| (p.name.to_string(), SIZE))
                .collect();
            let mut steps = kernel.steps(&given, 7).expect(kernel.name);
            let (mut work, mut completed) = (0.0, 0);
            while completed < 3 {
                let step = steps.step();
                assert_eq!(step.wrong, None, "{}", kernel.name);
                work += step.work;
                completed += step.completed;
            }
            assert!(work >= completed as f64, "{}", kernel.name);
            if kernel.work == "execution" {
                assert_eq!(work, completed as f64, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn bad_parameters_are_refused_with_what_is_allowed() {
        let refusal = |kernel: &str, name: &str, value| {
            let given = BTreeMap::from([(name.to_string(), value)]);
            (find(kernel).unwrap().prepare)(&given, 1)
                .err()
                .expect("refused")
        };
        assert!(refusal("null", "size", 1).contains("it has: none"));
        assert!(refusal("bsearch", "length", 1).contains("queries, size"));
        assert!(refusal("qsort", "size", 0).contains("from 1 to"));
        assert!(refusal("qsort", "size", 1 << 40).contains("from 1 to"));
        assert!(room::<u64>(1 << 50).is_err_and(|why| why.contains("exceeds")));
    }

    #[test]
    fn draws_stay_in_range_and_reach_its_ends() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let draws: Vec<_> = (0..1000).map(|_| up_to(3, &mut random)).collect();
        assert!((1..=3).all(|value| draws.contains(&value)));
        assert!(draws.iter().all(|value| (1..=3).contains(value)));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&unit(&mut random))));
    }
}
