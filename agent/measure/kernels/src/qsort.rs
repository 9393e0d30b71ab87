use crate::kernel::{sorting, values, Kernel, Parameter};

pub const KERNEL: Kernel = Kernel {
    name: "qsort",
    title: "Quicksort of a fresh copy of an array, the copying included",
    question: "How stable is reading and writing memory in random order?",
    source: Some("STABILITY, sort/qsort 1048576"),
    parameters: &[Parameter {
        name: "size",
        meaning: "items of 32 bits",
        unit: None,
        default: 1_048_576,
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

/// Hoare's own partition around the middle item. The library's sort is another algorithm, and
/// changes with the compiler; this one stays what it is.
fn sort(mut items: &mut [u32]) {
    while items.len() > 1 {
        let middle = partition(items);
        let (left, right) = items.split_at_mut(middle);
        // The longer side is the loop's, so that the stack stays logarithmic.
        let (shorter, longer) = if left.len() < right.len() {
            (left, right)
        } else {
            (right, left)
        };
        sort(shorter);
        items = longer;
    }
}

/// Moves small items left and large ones right; both sides keep at least one of two or more.
fn partition(items: &mut [u32]) -> usize {
    let pivot = items[(items.len() - 1) / 2];
    let (mut left, mut right) = (0, items.len() - 1);
    loop {
        while items[left] < pivot {
            left += 1;
        }
        while items[right] > pivot {
            right -= 1;
        }
        if left >= right {
            return right + 1;
        }
        items.swap(left, right);
        left += 1;
        right -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::sort;
    use crate::input::{generate, up_to};

    #[test]
    fn sorts_what_the_library_sorts() {
        for size in [0, 1, 2, 3, 10, 1000] {
            // Many, some and no duplicates; in order, in reverse and in disorder.
            for range in [1, 3, 1 << 31] {
                let items = generate(size, size, |random| up_to(range, random) as u32).unwrap();
                let mut sorted = items.clone();
                sorted.sort_unstable();
                let reverse: Vec<_> = sorted.iter().rev().copied().collect();
                for mut copy in [items, sorted.clone(), reverse] {
                    sort(&mut copy);
                    assert_eq!(copy, sorted);
                }
            }
        }
    }
}
