use crate::kernel::{sorting, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "insertion_sort",
    title: "Insertion sort of a fresh copy of an array, the copying included",
    question: "How stable is reading and writing memory that is in the cache?",
    source: Some("STABILITY, sort/insertion_sort 16384"),
    parameters: &[Parameter {
        name: "size",
        meaning: "items of 32 bits; the time grows with the square",
        unit: None,
        default: 16384,
        minimum: 1,
        maximum: 1 << 32,
    }],
    work: "execution",
    prepare: |given, seed| {
        let [size] = values(&KERNEL, given)?;
        sorting(size, seed, sort)
    },
    stepwise: None,
};

/// Moves each item down to its place among those before it.
fn sort(items: &mut [u32]) {
    for sorted in 1..items.len() {
        let item = items[sorted];
        let mut place = sorted;
        align();
        while place > 0 && items[place - 1] > item {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

/// Begins what follows in the middle of a cache line. Of a loop as short as this one, the address
/// decides whether a turn takes one cycle or two: what it takes must not change with every build.
#[inline(always)]
fn align() {
    // SAFETY: instructions that do nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            ".nops 32",
            options(nomem, nostack, preserves_flags)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn sorts_what_the_library_sorts() {
        for items in [
            &[][..],
            &[1],
            &[2, 1],
            &[3, 1, 2, 3, 0, 0, 9],
            &[1, 2, 3],
            &[3, 2, 1],
        ] {
            let (mut ours, mut theirs) = (items.to_vec(), items.to_vec());
            sort(&mut ours);
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
        }
    }
}
