//! The inner loops as any processor can execute them. Where it can do better, the compiler sees to
//! that: each set of instructions has its own instances (`loops`).

use super::tile::{COLUMNS, ROWS};

/// What every processor of the architecture has.
pub const FUSED: bool = cfg!(target_arch = "aarch64");

/// c - a b; without an instruction for it, the fused form would be a call.
#[inline(always)]
fn less<const FUSED: bool>(c: f64, a: f64, b: f64) -> f64 {
    if FUSED {
        (-a).mul_add(b, c)
    } else {
        c - a * b
    }
}

#[inline(always)]
pub unsafe fn multiply(
    depth: usize,
    a: *const f64,
    a_stride: usize,
    b: *const f64,
    c: *mut f64,
    c_stride: usize,
) {
    const SIDE: usize = 4;
    for column in (0..COLUMNS).step_by(SIDE) {
        for row in (0..ROWS).step_by(SIDE) {
            let (mut a, mut b) = (a.add(row), b.add(column));
            let place = |j| c.add(row + (column + j) * c_stride).cast::<[f64; SIDE]>();
            let mut sums = [[0.0; SIDE]; SIDE];
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = place(j).read();
            }
            for _ in 0..depth {
                let (x, y) = (
                    a.cast::<[f64; SIDE]>().read(),
                    b.cast::<[f64; SIDE]>().read(),
                );
                for (sum, y) in sums.iter_mut().zip(y) {
                    for (sum, x) in sum.iter_mut().zip(x) {
                        *sum = less::<FUSED>(*sum, x, y);
                    }
                }
                a = a.add(a_stride);
                b = b.add(COLUMNS);
            }
            for (j, sum) in sums.iter().enumerate() {
                place(j).write(*sum);
            }
        }
    }
}

#[inline(always)]
pub unsafe fn solve<const FUSED: bool>(depth: usize, l: *const f64, stride: usize, x: *mut f64) {
    const HALF: usize = COLUMNS / 2;
    for column in (0..COLUMNS).step_by(HALF) {
        let place = |row: usize| x.add(row * COLUMNS + column).cast::<[f64; HALF]>();
        for row in (0..depth).step_by(8) {
            let mut rows = [[0.0; HALF]; 8];
            for (i, one) in rows.iter_mut().enumerate() {
                *one = place(row + i).read();
            }
            let mut l = l.add(row);
            for above in 0..row {
                let above = place(above).read();
                for (i, one) in rows.iter_mut().enumerate() {
                    *one = row_less::<FUSED, HALF>(*one, *l.add(i), above);
                }
                l = l.add(stride);
            }
            for above in 0..8 {
                for i in above + 1..8 {
                    rows[i] = row_less::<FUSED, HALF>(rows[i], *l.add(i), rows[above]);
                }
                l = l.add(stride);
            }
            for (i, one) in rows.iter().enumerate() {
                place(row + i).write(*one);
            }
        }
    }
}

#[inline(always)]
fn row_less<const FUSED: bool, const N: usize>(
    mut row: [f64; N],
    factor: f64,
    other: [f64; N],
) -> [f64; N] {
    for (one, other) in row.iter_mut().zip(other) {
        *one = less::<FUSED>(*one, factor, other);
    }
    row
}

#[inline(always)]
pub unsafe fn factor(
    a: *mut f64,
    stride: usize,
    from: usize,
    size: usize,
    pivots: &mut [usize],
) -> Result<(), usize> {
    let width = pivots.len();
    for (j, pivot) in pivots.iter_mut().enumerate() {
        let diagonal = from + j;
        let column = a.add(j * stride);
        let below = std::slice::from_raw_parts(column.add(diagonal), size - diagonal);
        let largest = diagonal + largest(below);
        // Neither zero, nor so small that its reciprocal is infinite, nor not a number.
        if !(*column.add(largest)).is_normal() {
            return Err(diagonal);
        }
        *pivot = largest;
        for other in 0..width {
            let other = a.add(other * stride);
            std::ptr::swap(other.add(diagonal), other.add(largest));
        }
        let reciprocal = 1.0 / *column.add(diagonal);
        let (below, rows) = (column.add(diagonal + 1), size - diagonal - 1);
        match width - j - 1 {
            0 => eliminate::<0>(below, stride, rows, reciprocal),
            1 => eliminate::<1>(below, stride, rows, reciprocal),
            2 => eliminate::<2>(below, stride, rows, reciprocal),
            3 => eliminate::<3>(below, stride, rows, reciprocal),
            4 => eliminate::<4>(below, stride, rows, reciprocal),
            5 => eliminate::<5>(below, stride, rows, reciprocal),
            6 => eliminate::<6>(below, stride, rows, reciprocal),
            _ => eliminate::<7>(below, stride, rows, reciprocal),
        }
    }
    Ok(())
}

/// Scales what is below a pivot, and takes it out of the columns to its right, in one pass.
#[inline(always)]
unsafe fn eliminate<const OTHERS: usize>(
    below: *mut f64,
    stride: usize,
    rows: usize,
    reciprocal: f64,
) {
    let beside: [f64; OTHERS] =
        std::array::from_fn(|other| *below.add((other + 1) * stride).sub(1));
    for row in (0..rows).step_by(8) {
        let place = below.add(row).cast::<[f64; 8]>();
        let scaled = place.read().map(|value| value * reciprocal);
        place.write(scaled);
        for (other, factor) in beside.iter().enumerate() {
            let place = below.add((other + 1) * stride + row).cast::<[f64; 8]>();
            place.write(row_less::<false, 8>(place.read(), *factor, scaled));
        }
    }
}

/// Where the value of largest magnitude is.
#[inline(always)]
fn largest(values: &[f64]) -> usize {
    let mut most = [0.0_f64; 16];
    let mut whole = values.chunks_exact(16);
    for chunk in &mut whole {
        for (most, value) in most.iter_mut().zip(chunk) {
            *most = if value.abs() > *most {
                value.abs()
            } else {
                *most
            };
        }
    }
    let rest = whole.remainder().iter().chain(&most);
    let most = rest.fold(0.0_f64, |most, value| most.max(value.abs()));
    values
        .iter()
        .position(|value| value.abs() == most)
        .unwrap_or(0)
}

#[inline(always)]
pub unsafe fn back(u: *const f64, stride: usize, start: usize, end: usize, x: *mut f64) {
    let mut found = [0.0; COLUMNS];
    for j in (start..end).rev() {
        let column = u.add(j * stride);
        let value = *x.add(j) / *column.add(j);
        *x.add(j) = value;
        found[j - start] = -value;
        for i in start..j {
            *x.add(i) -= *column.add(i) * value;
        }
    }
    product(start, u.add(start * stride), stride, found.as_ptr(), x);
}

#[inline(always)]
pub unsafe fn product(rows: usize, a: *const f64, stride: usize, x: *const f64, r: *mut f64) {
    let x = x.cast::<[f64; COLUMNS]>().read();
    for row in (0..rows).step_by(8) {
        let place = r.add(row).cast::<[f64; 8]>();
        let mut sums = place.read();
        for (j, x) in x.iter().enumerate() {
            let column = a.add(j * stride + row).cast::<[f64; 8]>().read();
            for (sum, value) in sums.iter_mut().zip(column) {
                *sum += value * x;
            }
        }
        place.write(sums);
    }
}
