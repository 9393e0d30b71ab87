use std::hint::black_box;

use crate::input::{generate, unit, up_to};
use crate::kernel::{digest, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "exp_float",
    title: "e^x as (1 + x/n)^n in single precision, by n multiplications",
    question: "How stable is floating-point arithmetic on inputs read one after the other?",
    source: Some("STABILITY, exp/exp_float 65536"),
    parameters: PARAMETERS,
    work: "execution",
    prepare: |given, seed| {
        let [size, terms] = values(&KERNEL, given)?;
        let input = generate(size, seed, |random| {
            (unit(random) as f32, up_to(terms, random) as u32)
        })?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| {
                black_box(&input).iter().fold(sum, |sum, &(x, n)| {
                    digest(sum, power(x, n).to_bits().into())
                })
            })
        }))
    },
    stepwise: None,
};

/// Those of both precisions.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "size",
        meaning: "pairs of x, uniform in [0, 1), and n",
        unit: None,
        default: 65536,
        minimum: 1,
        maximum: 1 << 32,
    },
    // STABILITY does not say its n. With this one, the classic size takes 100 to 200 ms on the
    // machines of today, as theirs did on the machines of their day.
    Parameter {
        name: "terms",
        meaning: "largest n; each n is uniform in 1..=terms",
        unit: None,
        default: 4096,
        minimum: 1,
        maximum: u32::MAX as u64,
    },
];

/// (1 + x/n)^n by n multiplications, as the workload is defined.
fn power(x: f32, n: u32) -> f32 {
    let base = 1.0 + x / n as f32;
    (0..n).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximates_e_to_the_x() {
        // The method errs by x^2 / 2n, and rounding of 1 + x/n to 24 bits by n / 2^24.
        for x in [0.0, 0.25, 0.5, 0.99] {
            let error = f64::from(power(x, 2048)) / f64::from(x).exp() - 1.0;
            assert!(error.abs() < 5e-4, "x = {x}: relative error {error}");
        }
    }
}
