use std::hint::black_box;

use super::{digest, generate, unit, up_to, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "exp_float",
    title: "e^x as (1 + x/n)^n in single precision, by n multiplications",
    question: "How stable is floating-point arithmetic on inputs read one after the other?",
    source: Some("STABILITY, exp_float 65536"),
    parameters: &[
        Parameter {
            name: "size",
            meaning: "pairs of x and n",
            unit: None,
            default: 65536,
            minimum: 1,
            maximum: 1 << 32,
        },
        Parameter {
            name: "terms",
            meaning: "largest n; 4096 takes the classic size about as long as STABILITY's did",
            unit: None,
            default: 4096,
            minimum: 1,
            maximum: 1 << 32,
        },
    ],
    prepare: |given, seed| {
        let [size, terms] = values(&KERNEL, given)?;
        let input = generate(size, seed, |random| {
            (unit(random) as f32, up_to(terms, random))
        })?;
        Ok(Box::new(move |repetitions| {
            (0..repetitions).fold(0, |sum, _| {
                black_box(&input).iter().fold(sum, |sum, &(x, n)| {
                    digest(sum, u64::from(power(x, n).to_bits()))
                })
            })
        }))
    },
};

/// (1 + x/n)^n by n multiplications, as the workload is defined.
fn power(x: f32, n: u64) -> f32 {
    let base = 1.0 + x / n as f32;
    (0..n).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximates_e_to_the_x() {
        for x in [0.0, 0.25, 0.5, 1.0] {
            let error = f64::from(power(x, 2048)) / f64::from(x).exp() - 1.0;
            assert!(error.abs() < 1e-3, "x = {x}: relative error {error}");
        }
    }
}
