//! Solves a system of equations over and over, in steps, and checks each solution.

use std::cmp::Ordering;
use std::panic::resume_unwind;

use super::factors::Factors;
use super::loops::Loops;
use super::shape::{Doubles, Shape};
use super::tile::COLUMNS;
use crate::execution::{Execute, Wrong};
use crate::kernel::digest;
use crate::steps::{Step, Steps};

/// Operations, or as much time spent on memory, after which a step is long enough.
const ENOUGH: u64 = 2_000_000;
/// Doubles of a piece of what is bound by memory, and how many operations each is worth.
const PIECE: usize = 1 << 17;
const WORTH: u64 = 8;

/// Solves the same system again and again.
pub struct Solver {
    factors: Factors,
    loops: &'static Loops,
    /// The system as it was drawn, without gaps between columns, whatever the leading dimension
    /// of the copy that is solved.
    given: Doubles,
    given_shape: Shape,
    solution: Doubles,
    remainder: Doubles,
    stage: Stage,
    /// Largest sum of magnitudes in a row of the matrix; largest magnitude on the right-hand side.
    norms: (f64, f64),
    most_residual: f64,
    residual: Option<f64>,
    /// Of this solve.
    counted: u64,
}

/// The stage of a solve, with the column or the unknowns to go on with.
#[derive(Clone, Copy)]
pub enum Stage {
    Copy(usize),
    Factor,
    /// Unknowns that are not known yet.
    Back(usize),
    Check(usize),
}

impl Solver {
    pub fn new(
        size: usize,
        leading: usize,
        threads: usize,
        most_residual: f64,
        loops: &'static Loops,
        mut draw: impl FnMut(usize, usize) -> f64,
    ) -> Result<Self, String> {
        let shape = Shape::new(size, 0);
        let mut given = Doubles::new(shape.doubles())?;
        let mut sums = vec![0.0; size];
        let places = (0..size).chain([shape.side()]);
        for (column, place) in places.enumerate() {
            let values = &mut given.all()[place * shape.stride..][..size];
            for (row, value) in values.iter_mut().enumerate() {
                *value = draw(row, column);
                if column < size {
                    sums[row] += value.abs();
                }
            }
        }
        let side = &given.all()[shape.side() * shape.stride..][..size];
        let norms = (largest(&sums), largest(side));
        Ok(Self {
            factors: Factors::new(Shape::new(size, leading), threads, loops)?,
            loops,
            given,
            given_shape: shape,
            solution: Doubles::new(shape.stride)?,
            remainder: Doubles::new(shape.stride)?,
            stage: Stage::Copy(0),
            norms,
            most_residual,
            residual: None,
            counted: 0,
        })
    }

    /// A whole solve, from the beginning.
    pub fn solve(&mut self) -> Result<(), String> {
        self.stage = Stage::Copy(0);
        let mut step = Step::default();
        while step.completed == 0 {
            self.piece(&mut step);
            if let Some(wrong) = step.wrong {
                return Err(wrong);
            }
        }
        Ok(())
    }

    pub fn solution(&mut self) -> &[f64] {
        &self.solution.all()[..self.factors.shape.size]
    }

    /// Goes on with what is to be done, and says what it was worth.
    fn piece(&mut self, step: &mut Step) -> u64 {
        match self.stage {
            Stage::Copy(from) => self.copy(from),
            Stage::Factor => self.factor(step),
            Stage::Back(end) => self.back(end, step),
            Stage::Check(from) => self.check(from, step),
        }
    }

    fn copy(&mut self, from: usize) -> u64 {
        let (given, stride) = (self.given_shape, self.factors.shape.stride);
        let columns = given.columns();
        let to = columns.min(from + PIECE.div_ceil(given.stride));
        let target = self.factors.matrix.all();
        for column in from..to {
            let source = &self.given.all()[column * given.stride..][..given.stride];
            target[column * stride..][..given.stride].copy_from_slice(source);
        }
        self.stage = Stage::Copy(to);
        if to == columns {
            self.counted = 0;
            self.factors.begin();
            self.stage = Stage::Factor;
        }
        ((to - from) * given.stride) as u64 * WORTH
    }

    fn factor(&mut self, step: &mut Step) -> u64 {
        match self.factors.piece() {
            Ok(Some(done)) => {
                self.count(step, done);
                done
            }
            Ok(None) => {
                let Shape { size, stride } = self.factors.shape;
                let side = self.factors.shape.side() * stride;
                let right = &self.factors.matrix.all()[side..side + size];
                self.solution.all()[..size].copy_from_slice(right);
                self.stage = Stage::Back(size);
                0
            }
            Err(column) => {
                let size = self.factors.shape.size;
                step.wrong = Some(format!(
                    "the matrix of {size} unknowns is singular: no pivot in column {column}"
                ));
                self.stage = Stage::Copy(0);
                0
            }
        }
    }

    fn back(&mut self, mut end: usize, step: &mut Step) -> u64 {
        let Shape { size, stride } = self.factors.shape;
        let (u, x) = (self.factors.matrix.at(0), self.solution.at(0));
        let mut doubles = 0;
        while end > 0 && doubles < PIECE {
            let start = (end - 1) / COLUMNS * COLUMNS;
            // SAFETY: the columns and as many unknowns are there.
            unsafe { (self.loops.back)(u, stride, start, end, x) };
            doubles += end * COLUMNS;
            self.count(step, (end * end - start * start) as u64);
            end = start;
        }
        self.stage = Stage::Back(end);
        if end == 0 {
            // Convention counts more than is done, by n²/2 or so: it comes with the last ones.
            let n = size as f64;
            step.work += 2.0 / 3.0 * n * n * n + 2.0 * n * n - self.counted as f64;
            self.remainder.all().fill(0.0);
            self.stage = Stage::Check(0);
        }
        doubles as u64 * WORTH
    }

    fn check(&mut self, mut column: usize, step: &mut Step) -> u64 {
        let Shape { size, stride } = self.given_shape;
        let mut doubles = 0;
        while column < size && doubles < PIECE {
            let a = self.given.at(column * stride);
            let (x, r) = (self.solution.at(column), self.remainder.at(0));
            // SAFETY: the columns are there, and as many rows, padding included.
            unsafe { (self.loops.product)(size, a, stride, x, r) };
            doubles += stride * COLUMNS;
            column += COLUMNS;
        }
        self.stage = Stage::Check(column);
        if column >= size {
            self.conclude(step);
            self.stage = Stage::Copy(0);
        }
        doubles as u64 * WORTH
    }

    /// Compares A x with b: HPL's ‖Ax − b‖ / (ε (‖A‖ ‖x‖ + ‖b‖) n), all norms infinite.
    fn conclude(&mut self, step: &mut Step) {
        let shape = self.given_shape;
        let side = &self.given.all()[shape.side() * shape.stride..][..shape.size];
        let remainder = &mut self.remainder.all()[..shape.size];
        for (value, side) in remainder.iter_mut().zip(side) {
            *value -= side;
        }
        let error = largest(remainder);
        let (matrix, side) = self.norms;
        let scale = matrix * largest(self.solution()) + side;
        let residual = error / (f64::EPSILON * scale * shape.size as f64);
        self.residual = Some(largest(&[residual, self.residual.unwrap_or(0.0)]));
        // Also wrong if it is not a number.
        if residual.partial_cmp(&self.most_residual) != Some(Ordering::Less) {
            step.wrong = Some(format!(
                "the scaled residual of a solve with {} unknowns is {residual:.3}, not below {}",
                shape.size, self.most_residual
            ));
        }
        step.completed += 1;
    }

    fn count(&mut self, step: &mut Step, operations: u64) {
        self.counted += operations;
        step.work += operations as f64;
    }
}

impl Execute for Solver {
    fn execute(&mut self, repetitions: u64) -> u64 {
        (0..repetitions).fold(0, |sum, _| {
            if let Err(why) = self.solve() {
                resume_unwind(Box::new(Wrong(why)));
            }
            let solution = self.solution().iter();
            solution.fold(sum, |sum, value| digest(sum, value.to_bits()))
        })
    }

    fn residual(&self) -> Option<f64> {
        self.residual
    }
}

impl Steps for Solver {
    fn step(&mut self) -> Step {
        let mut step = Step::default();
        let mut worth = 0;
        while worth < ENOUGH && step.wrong.is_none() {
            worth += self.piece(&mut step);
        }
        step
    }

    fn residual(&self) -> Option<f64> {
        self.residual
    }
}

/// Largest magnitude; not a number if one of them is none, whatever comes before or after it.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| {
        if value.abs() <= most {
            most
        } else {
            value.abs() + most * 0.0
        }
    })
}

#[cfg(test)]
mod tests;
