//! The tile of a product that stays in registers.

pub const ROWS: usize = 24;
pub const COLUMNS: usize = 8;
