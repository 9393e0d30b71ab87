//! LINPACK: dense systems of linear equations, each solution checked.

mod factors;
mod loops;
mod plain;
mod shape;
mod solver;
mod threads;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::collections::BTreeMap;

use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::input::{fits, unit};
use crate::kernel::{values, Kernel, Parameter};
use factors::Factors;
use solver::Solver;

pub const KERNEL: Kernel = Kernel {
    name: "linpack",
    title: "LINPACK: solves a dense system of linear equations, and checks the solution",
    question: "How many floating-point operations a second does a CPU really do?",
    source: Some(
        "CALIBRATE, LINPACK; counted as LINPACK and HPL do, 2/3 n³ + 2 n² operations a solve; \
         HPL's scaled residual",
    ),
    parameters: &[
        Parameter {
            name: "size",
            meaning: "unknowns; coefficients are uniform in [-0.5, 0.5)",
            unit: None,
            default: 1000,
            minimum: 1,
            maximum: 1 << 20,
        },
        Parameter {
            name: "leading_dimension",
            meaning: "least distance between columns in numbers (LINPACK's LDA), rounded up to 8; \
                      0: size and 23 to 38 more",
            unit: None,
            default: 0,
            minimum: 0,
            maximum: 1 << 20,
        },
        Parameter {
            name: "threads",
            meaning: "threads that share each solve; concurrent solves are workers of their own",
            unit: None,
            default: 1,
            minimum: 1,
            maximum: 1024,
        },
        Parameter {
            name: "most_residual",
            meaning: "a solution whose scaled residual is not below it is wrong; 0: all are",
            unit: None,
            default: 16,
            minimum: 0,
            maximum: 1 << 32,
        },
    ],
    work: "flop",
    prepare: |given, seed| Ok(Box::new(prepared(given, seed)?)),
    stepwise: Some(|given, seed| Ok(Box::new(prepared(given, seed)?))),
};

fn prepared(given: &BTreeMap<String, u64>, seed: u64) -> Result<Solver, String> {
    let [size, leading, threads, most] = values(&KERNEL, given)?;
    if leading != 0 && leading < size {
        return Err(format!("leading_dimension {leading} is below size {size}"));
    }
    // The system that is solved, and the one that it is copied from.
    fits(Factors::bytes(size, leading).saturating_add(Factors::bytes(size, 0)))?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let fastest = loops::available()[0];
    Solver::new(
        size as usize,
        leading as usize,
        threads as usize,
        most as f64,
        fastest,
        |_, _| unit(&mut random) - 0.5,
    )
}
