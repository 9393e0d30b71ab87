use std::hint::black_box;

use crate::input::{generate, up_to};
use crate::kernel::{digest, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "bsearch",
    title: "Binary searches in a sorted array",
    question: "How stable is reading memory in random order?",
    source: Some("STABILITY, bsearch/bsearch 65536_1048576"),
    parameters: &[
        Parameter {
            name: "queries",
            meaning: "searches; what is sought is drawn as the array's items are",
            unit: None,
            default: 65536,
            minimum: 1,
            maximum: 1 << 32,
        },
        Parameter {
            name: "size",
            meaning: "items of 32 bits in the array, uniform in 1..=size",
            unit: None,
            default: 1_048_576,
            minimum: 1,
            maximum: u32::MAX as u64,
        },
    ],
    work: "execution",
    prepare: |given, seed| {
        let [queries, size] = values(&KERNEL, given)?;
        let mut items = generate(size, seed, |random| up_to(size, random) as u32)?;
        items.sort_unstable();
        // Another stream of the generator, so that what is sought is not what is there.
        let sought = generate(queries, !seed, |random| up_to(size, random) as u32)?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| {
                black_box(&sought)
                    .iter()
                    .fold(sum, |sum, &item| digest(sum, place(&items, item) as u64))
            })
        }))
    },
    stepwise: None,
};

/// Number of items below the one that is sought.
fn place(items: &[u32], sought: u32) -> usize {
    let (mut low, mut high) = (0, items.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if items[middle] < sought {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_linear_search_finds() {
        let items = [1, 3, 3, 3, 4, 8, 9, 9];
        for length in 0..=items.len() {
            for sought in 0..=10 {
                let items = &items[..length];
                let linear = items.iter().filter(|item| **item < sought).count();
                assert_eq!(place(items, sought), linear, "{sought} in {items:?}");
            }
        }
    }
}
