//! How a system of equations lies in memory.

use sys::pages::{Buffer, Pages};

use super::tile::{COLUMNS, ROWS};

/// By columns, with zeros below and to the right, so that loops need no edges; then the right-hand
/// side.
#[derive(Clone, Copy)]
pub struct Shape {
    pub size: usize,
    /// Doubles from a column to the next; odd in cache lines, so that rows do not share a set.
    pub stride: usize,
}

impl Shape {
    /// A system of `size` unknowns whose columns are at least `leading` doubles apart (LINPACK's
    /// LDA), rounded up to a cache line; 0: as close as the padding allows.
    pub fn new(size: usize, leading: usize) -> Self {
        let packed = (size + ROWS - 1).next_multiple_of(8) | 8;
        let stride = packed.max(leading.next_multiple_of(8));
        Self { size, stride }
    }

    /// The column of the right-hand side.
    pub fn side(self) -> usize {
        self.size.next_multiple_of(COLUMNS)
    }

    pub fn columns(self) -> usize {
        self.side() + COLUMNS
    }

    pub fn doubles(self) -> usize {
        self.stride * self.columns()
    }

    /// How many of these columns are not there as padding.
    pub fn real(self, from: usize, to: usize) -> usize {
        let of_matrix = to.min(self.size).saturating_sub(from);
        of_matrix + usize::from((from..to).contains(&self.side()))
    }
}

/// Zeroed doubles in huge pages, or else in small ones.
pub struct Doubles(Buffer);

impl Doubles {
    pub fn new(count: usize) -> Result<Self, String> {
        let bytes = count * size_of::<f64>();
        let mut doubles = Buffer::new(bytes, Pages::Huge)
            .or_else(|_| Buffer::new(bytes, Pages::Small))
            .map(Self)?;
        doubles.all().fill(0.0);
        Ok(doubles)
    }

    pub fn at(&self, index: usize) -> *mut f64 {
        debug_assert!(index < self.0.length() / size_of::<f64>());
        // SAFETY: inside the buffer.
        unsafe { self.0.start().cast::<f64>().add(index) }
    }

    pub fn all(&mut self) -> &mut [f64] {
        let count = self.0.length() / size_of::<f64>();
        // SAFETY: the buffer is ours, aligned, and of bytes that are doubles, whatever they are.
        unsafe { std::slice::from_raw_parts_mut(self.at(0), count) }
    }
}
