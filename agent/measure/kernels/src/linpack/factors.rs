//! LU factorisation with partial pivoting in small pieces, right-looking by panels, each of them
//! factored recursively; the right-hand side goes along as one more column, as in HPL.

use std::iter::StepBy;
use std::ops::Range;

use super::loops::Loops;
use super::shape::{Doubles, Shape};
use super::threads::Threads;
use super::tile::{COLUMNS, ROWS};

/// Columns after whose factoring all the rest is brought up to date.
const PANEL: usize = 128;
/// Columns and rows of the rest that a piece brings up to date: what fits into a second-level cache
/// of 512 KiB together.
const CHUNK: usize = 64;
const BLOCK: usize = 10 * ROWS;
/// Blocks of rows for each thread in a piece that threads share: they meet after every piece, which
/// costs most where other programs have some of the CPUs.
const SHARED_BLOCKS: usize = 8;

/// A system of equations while it is solved.
pub struct Factors {
    pub shape: Shape,
    pub matrix: Doubles,
    loops: &'static Loops,
    threads: Threads,
    /// The row that each row was exchanged with when its turn came.
    pivots: Vec<usize>,
    /// What is multiplied, in tiles' order: rows of L, columns of U.
    left: Doubles,
    right: Doubles,
    factored: usize,
    update: Option<Update>,
}

/// Some columns are to be brought up to date with others, left of them, that are factored.
#[derive(Clone, Copy)]
struct Update {
    /// The factored ones.
    from: usize,
    to: usize,
    /// The others: of this chunk, and of all.
    column: usize,
    end: usize,
    /// Next rows to be brought up to date; none: those of U are not solved yet.
    row: Option<usize>,
    /// A whole panel: L is worth being put into tiles' order.
    whole: bool,
    first: bool,
}

impl Update {
    fn chunk(&self) -> StepBy<Range<usize>> {
        (self.column..self.chunk_end()).step_by(COLUMNS)
    }

    fn chunk_end(&self) -> usize {
        self.end.min(self.column + CHUNK)
    }

    fn depth(&self) -> usize {
        self.to - self.from
    }

    /// Doubles between strips of U.
    fn strip(&self) -> usize {
        self.depth().next_multiple_of(8) * COLUMNS
    }
}

impl Factors {
    pub fn new(shape: Shape, threads: usize, loops: &'static Loops) -> Result<Self, String> {
        let size = shape.size;
        Ok(Self {
            shape,
            matrix: Doubles::new(shape.doubles())?,
            loops,
            threads: Threads::new(threads.min(1 + size / ROWS))?,
            pivots: vec![0; size],
            left: Doubles::new((size + ROWS) * PANEL)?,
            right: Doubles::new(CHUNK * PANEL)?,
            factored: 0,
            update: None,
        })
    }

    /// Bytes that a system of that size takes, with columns at least `leading` doubles apart.
    pub fn bytes(size: u64, leading: u64) -> u64 {
        let side = size.saturating_add(2 * ROWS as u64);
        let stride = side.max(leading.saturating_add(8));
        let doubles = side
            .saturating_mul(stride)
            .saturating_add(side.saturating_mul(PANEL as u64 + 1));
        doubles
            .saturating_add((CHUNK * PANEL) as u64)
            .saturating_mul(8)
    }

    pub fn begin(&mut self) {
        self.factored = 0;
        self.update = None;
    }

    /// Does the next piece, and says of how many operations; none: all are done.
    ///
    /// # Errors
    /// The column in which there is no pivot: the matrix is singular.
    pub fn piece(&mut self) -> Result<Option<u64>, usize> {
        let Some(mut update) = self.update else {
            if self.factored == self.shape.size {
                return Ok(None);
            }
            return self.factor().map(Some);
        };
        let done = if let Some(row) = update.row {
            let threads = self.threads.count();
            let blocks = if threads > 1 {
                SHARED_BLOCKS * threads
            } else {
                1
            };
            let next = self.shape.size.min(row + BLOCK * blocks);
            update.row = Some(next);
            self.multiply(&update, row, next)
        } else {
            update.row = Some(update.to);
            self.solve(&update)
        };
        if update.row >= Some(self.shape.size) {
            update.column += CHUNK;
            update.row = None;
            update.first = false;
        }
        self.update = (update.column < update.end).then_some(update);
        Ok(Some(done))
    }

    /// Factors the next few columns, and finds out which ones that concerns.
    fn factor(&mut self) -> Result<u64, usize> {
        let (from, size) = (self.factored, self.shape.size);
        let to = size.min(from + COLUMNS);
        let (a, stride) = (self.column(from), self.shape.stride);
        // SAFETY: the columns are there, with room for eight rows more.
        unsafe { (self.loops.factor)(a, stride, from, size, &mut self.pivots[from..to]) }?;
        self.factored = to;
        let panel = from / PANEL * PANEL;
        for column in panel..from {
            self.exchange(column, from, to);
        }
        let panel_end = size.min(panel + PANEL);
        self.update = Some(if to == panel_end {
            self.update_of(panel, to, self.shape.columns(), true)
        } else {
            // A recursion into halves, as told by the number of the columns that are done.
            let width = 1 << to.trailing_zeros();
            self.update_of(to - width, to, panel_end.min(to + width), false)
        });
        let operations = (from..to).map(|column| (size - column - 1) * (1 + 2 * (to - column - 1)));
        Ok(operations.sum::<usize>() as u64)
    }

    fn update_of(&self, from: usize, to: usize, end: usize, whole: bool) -> Update {
        Update {
            from,
            to,
            column: to.next_multiple_of(COLUMNS),
            end: end.next_multiple_of(COLUMNS),
            row: None,
            whole,
            first: true,
        }
    }

    /// Exchanges rows of the chunk, and makes those of U of it.
    fn solve(&self, update: &Update) -> u64 {
        self.threads.each(update.chunk(), |column| {
            let strip = self
                .right
                .at((column - update.column) / COLUMNS * update.strip());
            let rows = update.strip() / COLUMNS;
            for index in 0..COLUMNS {
                self.exchange(column + index, update.from, update.to);
                let a = self
                    .matrix
                    .at((column + index) * self.shape.stride + update.from);
                for row in 0..rows {
                    // SAFETY: both are there, padding included.
                    unsafe { *strip.add(row * COLUMNS + index) = *a.add(row) };
                }
            }
            let l = self
                .matrix
                .at(update.from * self.shape.stride + update.from);
            // SAFETY: as above; no other thread has these columns.
            unsafe { (self.loops.solve)(rows, l, self.shape.stride, strip) };
            for index in 0..COLUMNS {
                let a = self
                    .matrix
                    .at((column + index) * self.shape.stride + update.from);
                for row in 0..rows {
                    // SAFETY: as above.
                    unsafe { *a.add(row) = *strip.add(row * COLUMNS + index) };
                }
            }
        });
        let columns = self.shape.real(update.column, update.chunk_end());
        (update.depth() * (update.depth() - 1) * columns) as u64
    }

    /// Takes the product of L and U out of some rows of the chunk.
    fn multiply(&self, update: &Update, from: usize, to: usize) -> u64 {
        let blocks = (from..to).step_by(BLOCK);
        self.threads.each(blocks, |block| {
            let rows = (block..to.min(block + BLOCK)).step_by(ROWS);
            if update.whole && update.first {
                rows.clone().for_each(|row| self.pack(update, row));
            }
            for column in update.chunk() {
                let u = self
                    .right
                    .at((column - update.column) / COLUMNS * update.strip());
                for row in rows.clone() {
                    let (l, l_stride) = self.rows_of_l(update, row);
                    let (depth, stride) = (update.depth(), self.shape.stride);
                    let c = self.matrix.at(column * stride + row);
                    // SAFETY: the tile is there, padding included; no other thread has its rows.
                    unsafe { (self.loops.multiply)(depth, l, l_stride, u, c, stride) };
                }
            }
        });
        let columns = self.shape.real(update.column, update.chunk_end());
        (2 * update.depth() * (to - from) * columns) as u64
    }

    fn rows_of_l(&self, update: &Update, row: usize) -> (*const f64, usize) {
        if update.whole {
            (self.left.at((row - update.to) * update.depth()), ROWS)
        } else {
            let stride = self.shape.stride;
            (self.matrix.at(update.from * stride + row), stride)
        }
    }

    /// Puts a tile's rows of L one column after the other.
    fn pack(&self, update: &Update, row: usize) {
        for index in 0..update.depth() {
            let from = self
                .matrix
                .at((update.from + index) * self.shape.stride + row);
            let to = self
                .left
                .at((row - update.to) * update.depth() + index * ROWS);
            // SAFETY: both are there, padding included.
            unsafe { std::ptr::copy_nonoverlapping(from, to, ROWS) };
        }
    }

    /// Exchanges rows of one column as the pivots of others say.
    fn exchange(&self, column: usize, from: usize, to: usize) {
        let column = self.matrix.at(column * self.shape.stride);
        for (row, other) in (from..to).zip(&self.pivots[from..to]) {
            // SAFETY: rows of the matrix.
            unsafe { std::ptr::swap(column.add(row), column.add(*other)) };
        }
    }

    fn column(&self, column: usize) -> *mut f64 {
        self.matrix.at(column * self.shape.stride)
    }
}
