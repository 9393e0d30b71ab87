//! What a kernel has prepared, and what an execution may come to.

/// Prepared work.
pub type Execution = Box<dyn Execute>;

/// What is done, as often as it is asked.
pub trait Execute {
    /// Does it so many times over and returns a digest of its results.
    fn execute(&mut self, repetitions: u64) -> u64;

    /// Largest scaled residual so far; absent where a kernel does not check itself.
    fn residual(&self) -> Option<f64> {
        None
    }
}

impl<F: FnMut(u64) -> u64> Execute for F {
    fn execute(&mut self, repetitions: u64) -> u64 {
        self(repetitions)
    }
}

/// What an execution that came to a wrong result unwinds with: what is wrong, and its figures.
pub struct Wrong(pub String);
