//! A chain of additions that wait for each other: one cycle of the CPU each.

use std::arch::asm;

/// Additions in a row between two branches.
const CHAIN: u64 = 64;

/// So many additions (a multiple of `CHAIN`, at least one), each of which waits for the one
/// before. Of two registers: some CPUs perform additions of constants without spending a cycle.
pub fn adds(additions: u64) {
    let (mut sum, one) = (0_u64, 1_u64);
    for _ in 0..additions.div_ceil(CHAIN) {
        // SAFETY: touches nothing but the registers that it names.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                ".rept 64",
                "add {sum}, {one}",
                ".endr",
                sum = inout(reg) sum,
                one = in(reg) one,
                options(nomem, nostack),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                ".rept 64",
                "add {sum}, {sum}, {one}",
                ".endr",
                sum = inout(reg) sum,
                one = in(reg) one,
                options(nomem, nostack),
            );
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        for _ in 0..CHAIN {
            sum += std::hint::black_box(one);
        }
    }
    std::hint::black_box(sum);
}
