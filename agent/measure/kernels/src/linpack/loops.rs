//! The inner loops of a solve, for the widest vectors that there are.
//!
//! None of them has an edge: matrices are padded with zeros (`Shape`), and zeros change nothing.

use super::plain;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// One set of loops; matrices are stored by columns, `stride` doubles apart.
pub struct Loops {
    /// C -= A B for one tile: `depth` columns of A, and so many rows of B, which lie one after the
    /// other.
    pub multiply: unsafe fn(
        depth: usize,
        a: *const f64,
        a_stride: usize,
        b: *const f64,
        c: *mut f64,
        c_stride: usize,
    ),
    /// X = L⁻¹ X for a unit lower triangle and `depth` rows of X, which lie one after the other.
    pub solve: unsafe fn(depth: usize, l: *const f64, stride: usize, x: *mut f64),
    /// Factors some columns of a matrix from row `from` down to `size`, and says which rows it
    /// exchanged, or in which column there was no pivot.
    pub factor: Factor,
    /// Solves U x = y for the unknowns from `start` to `end`, and takes them out of those before.
    pub back: unsafe fn(u: *const f64, stride: usize, start: usize, end: usize, x: *mut f64),
    /// r += A x for one block of columns.
    pub product: unsafe fn(rows: usize, a: *const f64, stride: usize, x: *const f64, r: *mut f64),
}

type Factor = unsafe fn(
    a: *mut f64,
    stride: usize,
    from: usize,
    size: usize,
    pivots: &mut [usize],
) -> Result<(), usize>;

static PORTABLE: Loops = Loops {
    multiply: plain::multiply,
    solve: portable::solve,
    factor: portable::factor,
    back: portable::back,
    product: portable::product,
};

#[cfg(target_arch = "x86_64")]
static AVX2: Loops = Loops {
    multiply: x86::multiply_avx2,
    solve: avx2::solve,
    factor: avx2::factor,
    back: avx2::back,
    product: avx2::product,
};

#[cfg(target_arch = "x86_64")]
static AVX512: Loops = Loops {
    multiply: x86::multiply_avx512,
    solve: x86::solve_avx512,
    ..AVX2
};

/// Those that this processor can execute, the fastest first.
pub fn available() -> Vec<&'static Loops> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let widest = has!("avx512f").then_some(&AVX512);
            return widest.into_iter().chain([&AVX2, &PORTABLE]).collect();
        }
    }
    vec![&PORTABLE]
}

/// Instances of the loops below for one set of instructions.
macro_rules! instances {
    ($name:ident, $fused:expr $(, #[$feature:meta])?) => {
        mod $name {
            use super::plain;

            $(#[$feature])?
            pub unsafe fn solve(depth: usize, l: *const f64, stride: usize, x: *mut f64) {
                plain::solve::<{ $fused }>(depth, l, stride, x);
            }

            $(#[$feature])?
            pub unsafe fn factor(
                a: *mut f64,
                stride: usize,
                from: usize,
                size: usize,
                pivots: &mut [usize],
            ) -> Result<(), usize> {
                plain::factor(a, stride, from, size, pivots)
            }

            $(#[$feature])?
            pub unsafe fn back(
                u: *const f64,
                stride: usize,
                start: usize,
                end: usize,
                x: *mut f64,
            ) {
                plain::back(u, stride, start, end, x);
            }

            $(#[$feature])?
            pub unsafe fn product(
                rows: usize,
                a: *const f64,
                stride: usize,
                x: *const f64,
                r: *mut f64,
            ) {
                plain::product(rows, a, stride, x, r);
            }
        }
    };
}

instances!(portable, plain::FUSED);
#[cfg(target_arch = "x86_64")]
instances!(avx2, true, #[target_feature(enable = "avx2,fma")]);
