use std::hint::black_box;

use rand_pcg::rand_core::RngCore;

use crate::input::generate;
use crate::kernel::{digest, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "gray2bin",
    title: "Numbers from Gray code to binary, bit by bit",
    question: "How stable is integer arithmetic on inputs read one after the other?",
    source: Some("STABILITY, gray/gray2bin 1048576"),
    parameters: &[Parameter {
        name: "size",
        meaning: "numbers of 32 bits",
        unit: None,
        default: 1_048_576,
        minimum: 1,
        maximum: 1 << 32,
    }],
    work: "execution",
    prepare: |given, seed| {
        let [size] = values(&KERNEL, given)?;
        let input = generate(size, seed, |random| random.next_u32())?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| {
                black_box(&input)
                    .iter()
                    .fold(sum, |sum, &gray| digest(sum, binary(gray).into()))
            })
        }))
    },
    stepwise: None,
};

/// Each bit is the parity of itself and all higher bits of the Gray code.
fn binary(gray: u32) -> u32 {
    let mut number = gray;
    let mut rest = gray >> 1;
    while rest != 0 {
        number ^= rest;
        rest >>= 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_the_definition_of_gray_code() {
        for number in (0..4096).chain([u32::MAX, u32::MAX / 3, 1 << 31]) {
            assert_eq!(binary(number ^ (number >> 1)), number);
        }
    }
}
