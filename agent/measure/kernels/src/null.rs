use std::hint::black_box;

use crate::kernel::{digest, values, Kernel};

pub const KERNEL: Kernel = Kernel {
    name: "null",
    title: "Nothing at all",
    question: "What does the harness itself cost, and what does a new kernel's file look like?",
    source: None,
    parameters: &[],
    work: "execution",
    prepare: |given, seed| {
        let [] = values(&KERNEL, given)?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| digest(sum, black_box(seed)))
        }))
    },
    stepwise: None,
};
