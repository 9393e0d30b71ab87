//! A kernel's work in steps that are short beside a period of a CPU quota, so that what is done
//! can be told at any time.

use std::hint::black_box;

use sys::clock;

use crate::execution::Execution;

/// Does a kernel's work piece by piece, one execution after the other.
pub trait Steps {
    /// Does the next piece; allocates nothing unless something is wrong.
    fn step(&mut self) -> Step;

    /// Largest scaled residual of the executions completed so far; absent before the first, and
    /// where a kernel does not check itself.
    fn residual(&self) -> Option<f64> {
        None
    }
}

/// What one step did.
#[derive(Debug, Default)]
pub struct Step {
    /// Work done, in the kernel's unit; 0 where it only copied or checked.
    pub work: f64,
    /// Whole executions that ended with it.
    pub completed: u64,
    /// A check failed: what, with its figures.
    pub wrong: Option<String>,
}

/// What takes less is done several times in a step, so that telling it costs nothing beside it.
const SHORTEST_NS: i64 = 50_000;
const MOST: u64 = 1 << 30;

/// Steps of whole executions.
pub fn executions(mut execution: Execution) -> Box<dyn Steps> {
    let mut batch = 1;
    while batch < MOST {
        let begin = clock::monotonic();
        black_box(execution.execute(batch));
        if clock::monotonic() - begin >= SHORTEST_NS {
            break;
        }
        batch *= 2;
    }
    Box::new(Executions { execution, batch })
}

struct Executions {
    execution: Execution,
    batch: u64,
}

impl Steps for Executions {
    fn step(&mut self) -> Step {
        black_box(self.execution.execute(self.batch));
        Step {
            work: self.batch as f64,
            completed: self.batch,
            wrong: None,
        }
    }
}
