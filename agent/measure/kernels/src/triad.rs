use std::hint::black_box;

use crate::input::{fits, generate, unit};
use crate::kernel::{digest, values, Kernel, Parameter};
use crate::steps::{Step, Steps};

pub const KERNEL: Kernel = Kernel {
    name: "triad",
    title: "STREAM's triad, a = b + s c, in arrays beyond the caches",
    question: "How many bytes a second go to and from memory?",
    source: Some("STREAM, triad; counted as it does, 24 bytes an item, write-allocation left out"),
    parameters: &[Parameter {
        name: "size",
        meaning: "doubles in each of three arrays; STREAM asks for four times the last cache",
        unit: None,
        default: 1 << 22,
        minimum: 1,
        maximum: 1 << 36,
    }],
    work: "byte",
    // The digest reads once more what was written, one item after the other, which takes about as
    // long again; steps do without.
    prepare: |given, seed| {
        let mut triad = prepared(given, seed)?;
        Ok(Box::new(move |repetitions: u64| {
            (0..repetitions).fold(0, |sum, _| {
                while triad.step().completed == 0 {}
                (triad.a.iter()).fold(sum, |sum, value| digest(sum, value.to_bits()))
            })
        }))
    },
    stepwise: Some(|given, seed| Ok(Box::new(prepared(given, seed)?))),
};

/// Items of a step: some 50 microseconds.
const PIECE: usize = 1 << 15;
const FACTOR: f64 = 3.0;
/// Two items are read for each that is written.
const BYTES: usize = 3 * size_of::<f64>();

fn prepared(given: &std::collections::BTreeMap<String, u64>, seed: u64) -> Result<Triad, String> {
    let [size] = values(&KERNEL, given)?;
    fits(size.saturating_mul(BYTES as u64))?;
    Ok(Triad {
        a: generate(size, seed, |_| 0.0)?,
        b: generate(size, seed, unit)?,
        c: generate(size, !seed, unit)?,
        done: 0,
    })
}

struct Triad {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    done: usize,
}

impl Steps for Triad {
    fn step(&mut self) -> Step {
        let end = self.a.len().min(self.done + PIECE);
        let (b, c) = (&self.b[self.done..end], &self.c[self.done..end]);
        let a = &mut self.a[self.done..end];
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            *a = b + FACTOR * c;
        }
        black_box(a);
        let work = ((end - self.done) * BYTES) as f64;
        let whole = end == self.a.len();
        self.done = if whole { 0 } else { end };
        Step {
            work,
            completed: u64::from(whole),
            wrong: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_the_sum_and_counts_once() {
        for size in [1, 7, PIECE, PIECE + 1, 3 * PIECE - 1] {
            let given = [("size".to_string(), size as u64)].into();
            let mut triad = prepared(&given, 5).unwrap();
            for _ in 0..2 {
                triad.a.fill(0.0);
                let mut work = 0.0;
                loop {
                    let step = triad.step();
                    work += step.work;
                    if step.completed == 1 {
                        break;
                    }
                }
                assert_eq!(work, 24.0 * size as f64);
                let items = triad.a.iter().zip(&triad.b).zip(&triad.c);
                assert!(items.into_iter().all(|((a, b), c)| *a == b + 3.0 * c));
            }
        }
    }

    #[test]
    fn arrays_beyond_memory_are_refused() {
        let given = [("size".to_string(), 1 << 36)].into();
        assert!(prepared(&given, 1).is_err_and(|why| why.contains("exceeds")));
    }
}
