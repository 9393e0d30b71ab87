//! Work that is the same each time, for comparisons of a program with itself.

use std::hint::black_box;

use crate::program::{Never, Opening, Program};

pub const PROGRAM: Program = Program {
    name: "work",
    title: "walks so many steps through a few pages, in an order that is not foreseen",
    unit: "steps",
    tells: false,
    run,
};

fn run(_: &Opening, steps: i64) -> Result<Never, String> {
    let mut table = vec![0_u32; 1 << 16];
    let mut place = 1_u32;
    for _ in 0..steps {
        place = place.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let other = table[(place >> 8 & 0xffff) as usize];
        let here = &mut table[(place >> 16) as usize];
        *here = here.wrapping_add(place ^ other);
    }
    black_box(&table);
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}
