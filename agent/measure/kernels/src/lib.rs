//! Built-in workloads, one file each with one constant that describes it.
//!
//! A kernel generates and touches its input in `prepare`, outside any timed region, and hands
//! back what is to be timed: a function that does the work a number of times over and returns
//! a digest of *all* its results, so that nothing can be elided.

mod bsearch;
mod execution;
mod exp_double;
mod exp_float;
mod gray2bin;
mod input;
mod insertion_sort;
mod kernel;
mod linpack;
mod null;
pub mod process;
mod qsort;
mod steps;
mod triad;
mod window;

pub use kernel::Kernel;

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

/// The kernel of that name.
fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().copied().find(|kernel| kernel.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_pcg::rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::execution::Execution;
    use crate::input::{room, unit, up_to};
    use crate::kernel::FACTOR;

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
