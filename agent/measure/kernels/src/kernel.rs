//! How a kernel describes itself, and what all of them need.

use std::collections::BTreeMap;
use std::hint::black_box;

use rand_pcg::rand_core::RngCore;
use serde::Serialize;

use crate::execution::Execution;
use crate::input::{generate, room};
use crate::steps::{self, Steps};

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

/// Values of a kernel's parameters in the order in which it lists them, defaults filled in.
pub fn values<const N: usize>(
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
pub fn sorting(size: u64, seed: u64, sort: fn(&mut [u32])) -> Result<Execution, String> {
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
pub fn digest(sum: u64, result: u64) -> u64 {
    sum.wrapping_mul(FACTOR).wrapping_add(result)
}

/// Odd, so that no result is ever shifted out; its bits are those of the golden ratio.
pub const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
