//! How many loads from memory a CPU has under way at once.

use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::chase::{Caches, Ring, STEP};
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};

const LATENCY: &str = "memory.parallelism.latency";
const PEAK: &str = "memory.parallelism.peak";

pub const PROBE: Probe = Probe {
    name: "memory.parallelism",
    title: "loads from memory at once",
    question: "How much faster is memory for loads that need not wait for each other?",
    source: Some("multichase, parallel chases"),
    metrics: &[
        Metric {
            name: LATENCY,
            unit: "ns",
            meaning: "time by loads, of so many chains of dependent loads followed at once by \
                      one thread through four times the last cache, at least 64 MiB, in huge \
                      pages where they can be had; least of windows",
            axes: &[Axis {
                name: "chains",
                unit: "1",
                meaning: "independent chains",
            }],
            listed: false,
            better: Better::Lower,
            margin: 0.05,
        },
        Metric {
            name: PEAK,
            unit: "1",
            meaning: "latency of one chain by the least with any number of them up to 64: about \
                      the loads that the first cache can have missing at once",
            axes: &[],
            listed: false,
            better: Better::Higher,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.35),
        whole: Some(1.0),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Of the buffer: laying out a longer ring takes its time.
const MOST: usize = 512 << 20;
/// Loads in a window, of all chains: 0.2 ms or so.
const LOADS: usize = 4096;
const FEWEST: usize = 5;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let caches = Caches::of(round.home());
    let allowed = round.job.memory_bytes as usize / (caches.line + 4) * caches.line;
    let length = caches.beyond(4).min(allowed).min(MOST);
    if length <= caches.last().unwrap_or(0) {
        return Err(
            "the memory that may be taken is not beyond the caches: --memory \"512 MiB\""
                .to_string(),
        );
    }
    let huge = length / Pages::Huge.bytes() * Pages::Huge.bytes();
    let buffer = Buffer::new(huge, Pages::Huge).or_else(|_| Buffer::new(length, Pages::Small))?;
    let mut places: Vec<u32> = (0..(huge.min(length) / caches.line) as u32).collect();
    let ring = Ring::new(&buffer, &mut places, caches.line, &mut round.random());
    let each_ns = match round.job.effort {
        Effort::Whole => 40_000_000,
        _ => 8_000_000,
    };
    let latencies: Vec<f64> = (FOLLOW.iter())
        .map(|(chains, follow)| {
            let latency = least(&ring, *chains, *follow, each_ns);
            round.read_at(LATENCY, &[*chains as i64], latency);
            latency
        })
        .collect();
    round.read(
        PEAK,
        latencies[0] / latencies.iter().copied().fold(f64::INFINITY, f64::min),
    );
    Ok(())
}

/// Nanoseconds a load in the best of windows.
fn least(ring: &Ring, chains: usize, follow: Follow, budget_ns: i64) -> f64 {
    let mut at: Vec<*const u8> = (0..chains)
        .map(|chain| ring.at(ring.length() / chains * chain))
        .collect();
    let steps = (LOADS / chains / STEP as usize).max(1);
    let loads = (steps * STEP as usize * chains) as f64;
    let end = clock::monotonic() + budget_ns;
    let (mut least, mut count) = (f64::INFINITY, 0);
    while count < FEWEST || clock::monotonic() < end {
        let start = clock::monotonic();
        // SAFETY: as many chains as the function follows, all in the ring.
        unsafe { follow(&mut at, steps) };
        least = least.min((clock::monotonic() - start) as f64 / loads);
        count += 1;
    }
    std::hint::black_box(&at);
    least
}

type Follow = unsafe fn(&mut [*const u8], usize);

/// A loop for each number of chains, so that its pointers stay in registers where these suffice.
const FOLLOW: [(usize, Follow); 18] = [
    (1, follow::<1>),
    (2, follow::<2>),
    (3, follow::<3>),
    (4, follow::<4>),
    (5, follow::<5>),
    (6, follow::<6>),
    (7, follow::<7>),
    (8, follow::<8>),
    (10, follow::<10>),
    (12, follow::<12>),
    (14, follow::<14>),
    (16, follow::<16>),
    (20, follow::<20>),
    (24, follow::<24>),
    (32, follow::<32>),
    (40, follow::<40>),
    (48, follow::<48>),
    (64, follow::<64>),
];

/// Follows all chains in step.
unsafe fn follow<const CHAINS: usize>(chains: &mut [*const u8], steps: usize) {
    let mut at: [*const u8; CHAINS] = chains.try_into().expect("so many chains");
    for _ in 0..steps * STEP as usize {
        for pointer in &mut at {
            *pointer = *pointer.cast::<*const u8>();
        }
    }
    chains.copy_from_slice(&at);
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn chains_go_on_from_where_they_are() {
        let buffer = Buffer::new(1000 * 64, Pages::Small).unwrap();
        let mut places: Vec<u32> = (0..1000).collect();
        let ring = Ring::new(&buffer, &mut places, 64, &mut Pcg64Mcg::seed_from_u64(3));
        for (chains, follow) in FOLLOW {
            let starts: Vec<usize> = (0..chains).map(|chain| 15 * chain).collect();
            let mut at: Vec<_> = starts.iter().map(|start| ring.at(*start)).collect();
            // SAFETY: in the ring.
            unsafe { follow(&mut at, 2) };
            for (start, end) in starts.iter().zip(at) {
                assert_eq!(end, ring.at(start + 2 * STEP as usize), "{chains}");
            }
        }
    }
}
