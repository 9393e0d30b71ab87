use std::hint::black_box;

use crate::exp_float;
use crate::input::{generate, unit, up_to};
use crate::kernel::{digest, values, Kernel};

pub const KERNEL: Kernel = Kernel {
    name: "exp_double",
    title: "e^x as (1 + x/n)^n in double precision, by n multiplications",
    question: "How stable is floating-point arithmetic on inputs read one after the other?",
    source: Some("STABILITY, exp/exp_double 65536"),
    parameters: exp_float::PARAMETERS,
    work: "execution",
    prepare: |given, seed| {
        let [size, terms] = values(&KERNEL, given)?;
        let input = generate(size, seed, |random| {
            (unit(random), up_to(terms, random) as u32)
        })?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| {
                black_box(&input)
                    .iter()
                    .fold(sum, |sum, &(x, n)| digest(sum, power(x, n).to_bits()))
            })
        }))
    },
    stepwise: None,
};

/// (1 + x/n)^n by n multiplications, as the workload is defined.
fn power(x: f64, n: u32) -> f64 {
    let base = 1.0 + x / f64::from(n);
    (0..n).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximates_e_to_the_x() {
        // The method errs by x^2 / 2n; rounding is far below that.
        for x in [0.0, 0.25, 0.5, 0.99] {
            let n = 100_000;
            let error = power(x, n) / x.exp() - 1.0;
            let expected = -x * x / 2.0 / f64::from(n);
            assert!(
                (error - expected).abs() < 1e-9,
                "x = {x}: relative error {error}"
            );
        }
    }
}
