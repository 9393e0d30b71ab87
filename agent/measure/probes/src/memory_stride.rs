//! How long a load takes, by how far its address is from the one before.

use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::chase::{Caches, Ring};
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};

const SEQUENTIAL: &str = "memory.stride.sequential";
const RANDOM: &str = "memory.stride.random";

const AXES: &[Axis] = &[
    Axis {
        name: "size_bytes",
        unit: "bytes",
        meaning: "memory that the loads go around in",
    },
    Axis {
        name: "stride_bytes",
        unit: "bytes",
        meaning: "distance between neighbouring addresses of the chain",
    },
];

const fn latency(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: AXES,
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }
}

pub const PROBE: Probe = Probe {
    name: "memory.stride",
    title: "latency of memory by size and stride",
    question: "Which strides does the prefetcher recognise, and what does it save?",
    source: Some("SYSMEASURE, memory latency by stride; lmbench lat_mem_rd"),
    metrics: &[
        latency(
            SEQUENTIAL,
            "one load of a chain of dependent loads at ascending addresses, each one stride after \
             the one before, around a buffer of that size in small pages; least of windows. The \
             part below memory.stride.random at the same size and stride is what prefetching and \
             neighbouring loads of the same line and page save. quick: half of each cache, a \
             quarter of the last one and four times that one (at least 64 MiB), at three strides; \
             whole: powers of two up to there, at all strides, those below 64 bytes included; all \
             as far as the memory that may be taken allows",
        ),
        latency(
            RANDOM,
            "the same addresses in random order, which no prefetcher predicts; least of windows. \
             The chain has as many lines as strides fit the buffer: at one page per load they fit \
             a cache that the buffer itself does not, and TLB misses are most of the time",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.2),
        whole: Some(1.3),
    },
    repeats: true,
    needs: &[],
    perform,
};

const PAGE: usize = 4096;
const STRIDES_QUICK: &[usize] = &[64, 512, PAGE];
const STRIDES_WHOLE: &[usize] = &[16, 32, 64, 128, 256, 512, PAGE];
/// Smallest stride in random order: less than a line would only repeat lines.
const SMALLEST_RANDOM: usize = 64;
/// Smallest size: two addresses at the largest stride.
const SMALLEST: usize = 2 * PAGE;
/// Rings of less are gone around in a window, or nearly so.
const SHORT: usize = 256 << 10;
/// Largest buffer, whatever the caches: the time to link the addresses grows with it.
const LARGEST_QUICK: usize = 256 << 20;
const LARGEST_WHOLE: usize = 1 << 30;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let caches = Caches::of(round.home());
    let (strides, window_ns) = match round.job.effort {
        Effort::Whole => (STRIDES_WHOLE, 4_000_000),
        _ => (STRIDES_QUICK, 1_000_000),
    };
    let sizes = sizes(round, &caches, strides[0]);
    let largest = sizes.last().copied();
    let largest =
        largest.ok_or("the memory that may be taken is too little: --max-memory 64MiB")?;
    let buffer = Buffer::new(largest, Pages::Small)?;
    let mut places = Vec::with_capacity(largest / strides[0]);
    let mut random = round.random();
    let shared = caches.last().unwrap_or(0);
    let end = clock::monotonic() + 8 * round.budget_ns();
    for size in sizes {
        for stride in strides {
            let at = [size as i64, *stride as i64];
            let sweep = (SHORT..=shared).contains(&size);
            places.clear();
            places.extend(0..(size / stride) as u32);
            let ring = Ring::in_order(&buffer, &places, *stride);
            round.read_at(SEQUENTIAL, &at, ring.least(window_ns, sweep));
            if *stride >= SMALLEST_RANDOM {
                let ring = Ring::new(&buffer, &mut places, *stride, &mut random);
                round.read_at(RANDOM, &at, ring.least(window_ns, sweep));
            }
        }
        // A slow machine lacks the largest sizes, rather than the other probes their time.
        if clock::monotonic() > end {
            break;
        }
    }
    Ok(())
}

/// Sizes of this round, ascending, of which the memory that may be taken holds the addresses too.
fn sizes(round: &Round, caches: &Caches, stride: usize) -> Vec<usize> {
    let allowed = round.job.memory_bytes as usize / (stride + size_of::<u32>()) * stride;
    let beyond = caches.beyond(4).next_power_of_two();
    let mut sizes: Vec<usize> = match round.job.effort {
        Effort::Whole => {
            let largest = beyond.min(LARGEST_WHOLE);
            (SMALLEST.ilog2()..=largest.ilog2())
                .map(|exponent| 1 << exponent)
                .collect()
        }
        _ => {
            let last = caches.last();
            let inside = caches.sizes.iter().map(|size| {
                // Of the last cache, other CPUs and guests leave only a part.
                let parts = if Some(*size) == last { 4 } else { 2 };
                size / parts / PAGE * PAGE
            });
            let largest = beyond.min(LARGEST_QUICK).min(allowed / PAGE * PAGE);
            inside.chain([largest]).collect()
        }
    };
    sizes.retain(|size| (SMALLEST..=allowed).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(effort: Effort, memory_bytes: u64) -> Round {
        let job = serde_json::from_value(serde_json::json!({
            "id": 1, "name": PROBE.name, "effort": effort, "seed": 1, "cpus": null,
            "directory": null, "remote": null, "memory_bytes": memory_bytes, "file_bytes": 0,
            "file_cache": null, "peer": null, "timeout_ns": 0,
        }));
        Round::new(job.unwrap(), &PROBE, vec![0])
    }

    fn caches(sizes: &[usize]) -> Caches {
        Caches {
            line: 64,
            sizes: sizes.to_vec(),
        }
    }

    #[test]
    fn quick_sizes_are_one_in_each_cache_and_one_beyond() {
        let caches = caches(&[48 << 10, 1 << 20, 20 << 20]);
        let found = sizes(&round(Effort::Quick, 1 << 30), &caches, 64);
        assert_eq!(found, [24 << 10, 512 << 10, 5 << 20, 128 << 20]);
        let found = sizes(&round(Effort::Quick, 68 << 20), &caches, 64);
        assert_eq!(found, [24 << 10, 512 << 10, 5 << 20, 64 << 20]);
    }

    #[test]
    fn whole_sizes_are_powers_of_two() {
        let found = sizes(&round(Effort::Whole, 1 << 30), &caches(&[]), 16);
        let expected: Vec<usize> = (13..=26).map(|exponent| 1 << exponent).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn buffer_and_addresses_stay_within_the_allowed_memory() {
        let stride = 16;
        for memory_bytes in [1 << 13, 1 << 20, (1 << 22) + 12345] {
            let found = sizes(&round(Effort::Whole, memory_bytes), &caches(&[]), stride);
            for size in found {
                assert!((size + size / stride * size_of::<u32>()) as u64 <= memory_bytes);
            }
        }
        assert!(sizes(&round(Effort::Quick, 100), &caches(&[]), 64).is_empty());
    }
}
