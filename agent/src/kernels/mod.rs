//! Built-in workloads, one file each with one constant that describes it.
//!
//! A kernel generates and touches its input in `prepare`, outside any timed region, and hands
//! back what is to be timed: a function that does the work a number of times over and returns
//! a digest of *all* its results, so that nothing can be elided.

mod exp_float;
mod null;

use std::collections::BTreeMap;

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Every kernel, in order of name. A new one needs a line here and its `mod` above.
pub const KERNELS: &[&Kernel] = &[&exp_float::KERNEL, &null::KERNEL];

/// A built-in workload, as it describes itself.
pub struct Kernel {
    pub name: &'static str,
    /// One line: what it does.
    pub title: &'static str,
    /// What it is there to find out.
    pub question: &'static str,
    pub source: Option<&'static str>,
    pub parameters: &'static [Parameter],
    /// Checks the parameters and makes the input that the seed stands for.
    pub prepare: fn(&BTreeMap<String, u64>, u64) -> Result<Execution, String>,
}

/// One parameter of a kernel; all are whole numbers.
pub struct Parameter {
    pub name: &'static str,
    pub meaning: &'static str,
    pub unit: Option<&'static str>,
    pub default: u64,
    /// Inclusive range.
    pub minimum: u64,
    pub maximum: u64,
}

/// Does the prepared work so many times over and returns a digest of its results.
pub type Execution = Box<dyn FnMut(u64) -> u64>;

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

/// So many items drawn from the seed's generator; refused where the machine has no room.
fn generate<T>(
    size: u64,
    seed: u64,
    mut draw: impl FnMut(&mut Pcg64Mcg) -> T,
) -> Result<Vec<T>, String> {
    let mut items = room(size)?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    items.extend((0..size).map(|_| draw(&mut random)));
    Ok(items)
}

/// An empty vector with room for so many items.
///
/// Linux promises memory that it does not have and kills whoever uses it, so the allocator's
/// word is not enough: what exceeds the machine's memory is refused.
fn room<T>(size: u64) -> Result<Vec<T>, String> {
    let bytes = size.saturating_mul(std::mem::size_of::<T>() as u64);
    // SAFETY: sysconf has no preconditions.
    let memory = unsafe {
        (libc::sysconf(libc::_SC_PHYS_PAGES) as u64)
            .saturating_mul(libc::sysconf(libc::_SC_PAGESIZE) as u64)
    };
    let refusal =
        || format!("an input of {bytes} bytes exceeds the machine's memory of {memory} bytes");
    if bytes > memory {
        return Err(refusal());
    }
    let mut items = Vec::new();
    items
        .try_reserve_exact(size as usize)
        .map_err(|_| refusal())?;
    Ok(items)
}

/// Uniform in [0, 1): the 53 bits that a double holds exactly.
fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform in 1..=limit (by multiplication; the bias is below limit / 2^64).
fn up_to(limit: u64, random: &mut Pcg64Mcg) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64 + 1
}

/// Takes one more result into a digest, in which order matters.
fn digest(sum: u64, result: u64) -> u64 {
    sum.rotate_left(1).wrapping_add(result)
}
