//! How long a load takes, by how much memory the loads go around in.

use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::chase::{shuffle, Caches, Ring, LOADS};
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};

const LATENCY: &str = "memory.latency";
const UNCACHED: &str = "memory.latency.uncached";

pub const PROBE: Probe = Probe {
    name: LATENCY,
    title: "latency of memory by size",
    question: "How long does a load take in each cache and in memory, and how large are these?",
    source: Some("lmbench lat_mem_rd -t; multichase; SYSMEASURE, memory access time"),
    metrics: &[
        Metric {
            name: LATENCY,
            unit: "ns",
            meaning: "one load of a chain of loads that depend on each other, in random order \
                      through every line of a buffer of that size; least of windows. What is \
                      longer than a window, up to the size of the last cache, is touched once in \
                      the same order before each: what the neighbours' use of a shared cache \
                      costs is not in it, as long as they are slower than that. Small pages and \
                      huge pages (transparent ones, looked after) are different points: small \
                      ones have the TLB's misses in them, as most programs do. brief: 16 KiB and \
                      half of the second cache; quick: small pages up to four times the last \
                      cache, at least 64 MiB, and beyond 4 MiB some of the sizes in each round; \
                      whole: twice as many sizes, huge pages too; all as far as the memory that \
                      may be taken allows",
            axes: &[
                Axis {
                    name: "size_bytes",
                    unit: "bytes",
                    meaning: "memory that the loads go around in",
                },
                Axis {
                    name: "page_bytes",
                    unit: "bytes",
                    meaning: "pages that it is made of",
                },
            ],
            listed: false,
            better: Better::Lower,
            margin: 0.05,
        },
        Metric {
            name: UNCACHED,
            unit: "ns",
            meaning: "one load of a line that was flushed from every cache, of 4 MiB in small \
                      pages, which a TLB reaches; least of windows of 2048 loads",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.05,
        },
    ],
    seconds: Seconds {
        brief: Some(0.03),
        quick: Some(1.2),
        whole: Some(7.0),
    },
    repeats: true,
    needs: &[],
    perform,
};

const SMALLEST: usize = 1 << 10;
/// Rings of less are gone around in a window, or nearly so.
const SHORT: usize = 256 << 10;
/// Last cache where nobody says.
const UNKNOWN_CACHE: usize = 32 << 20;
/// What is flushed for `memory.latency.uncached`, and how far its lines are apart: a quarter of
/// what the smallest second TLB reaches.
const FLUSHED: usize = 4 << 20;
const APART: usize = 256;
/// Up to here every round of a quick effort has every size: what is beyond is costly.
const CHEAP: usize = 4 << 20;
/// Most that is laid out, whatever the cache: making a ring takes its time.
const MOST_QUICK: usize = 256 << 20;
const MOST_WHOLE: usize = 2 << 30;

const TOO_LITTLE: &str = "the memory that may be taken is too little: --memory \"256 MiB\"";

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let caches = Caches::of(round.home());
    match uncached(round) {
        Ok(least) => round.read(UNCACHED, least),
        Err(why) => round.unavailable(UNCACHED, why),
    }
    measure(round, &caches, Pages::Small)?;
    if round.job.effort == Effort::Whole {
        if let Err(why) = measure(round, &caches, Pages::Huge) {
            round.unavailable("memory.latency with huge pages", why);
        }
    }
    Ok(())
}

/// Measures each size in a random order, in pages of one kind.
fn measure(round: &Round, caches: &Caches, pages: Pages) -> Result<(), String> {
    let mut random = round.random();
    let mut sizes = sizes(round, caches, pages);
    let largest = sizes.iter().max().copied();
    let largest = largest.ok_or(TOO_LITTLE)?;
    shuffle(&mut sizes, &mut random);
    let buffer = Buffer::new(largest, pages)?;
    let mut places = Vec::with_capacity(largest / caches.line);
    let shared = caches.last().unwrap_or(UNKNOWN_CACHE);
    let end = clock::monotonic() + 2 * round.budget_ns();
    for size in sizes {
        places.clear();
        places.extend(0..(size / caches.line) as u32);
        let ring = Ring::new(&buffer, &mut places, caches.line, &mut random);
        let each_ns = each_ns(round);
        let sweep = (SHORT..=shared).contains(&size);
        let least = ring.least(each_ns, sweep);
        round.read_at(LATENCY, &[size as i64, buffer.page() as i64], least);
        // A slow machine has some sizes in this round and others in the next.
        if clock::monotonic() > end {
            break;
        }
    }
    Ok(())
}

/// Time for one size.
fn each_ns(round: &Round) -> i64 {
    match round.job.effort {
        Effort::Brief => 4_000_000,
        Effort::Quick => 8_000_000,
        Effort::Whole => 12_000_000,
    }
}

/// Nanoseconds a load of what no cache holds, whatever their size.
fn uncached(round: &Round) -> Result<f64, String> {
    if (round.job.memory_bytes as usize) < FLUSHED {
        return Err(TOO_LITTLE.to_string());
    }
    let buffer = Buffer::new(FLUSHED, Pages::Small)?;
    // Not neighbouring lines, which processors fetch along with each other.
    let mut places: Vec<u32> = (0..(FLUSHED / APART) as u32).collect();
    let ring = Ring::new(&buffer, &mut places, APART, &mut round.random());
    let mut least = f64::INFINITY;
    let end = clock::monotonic() + each_ns(round);
    while least.is_infinite() || clock::monotonic() < end {
        ring.flush();
        for index in 0..ring.length() / LOADS {
            least = least.min(ring.window(index * LOADS, LOADS));
        }
    }
    Ok(least)
}

/// Sizes of this round, from small to large.
fn sizes(round: &Round, caches: &Caches, pages: Pages) -> Vec<usize> {
    // Pages are whole, and each line has its number in the order as well.
    let allowed = (round.job.memory_bytes as usize).saturating_sub(pages.bytes());
    let allowed = allowed / (caches.line + 4) * caches.line;
    let largest = caches.beyond(4).min(allowed);
    match round.job.effort {
        Effort::Brief => brief(caches, allowed),
        Effort::Quick => thinned(&steps(4, largest.min(MOST_QUICK)), round),
        Effort::Whole => steps(8, largest.min(MOST_WHOLE)),
    }
}

/// The same few in every round, so that one round stands beside another.
fn brief(caches: &Caches, allowed: usize) -> Vec<usize> {
    let second = caches.sizes.get(1).map_or(256 << 10, |size| size / 2);
    let mut sizes = vec![16 << 10, second];
    sizes.retain(|size| *size <= allowed);
    sizes
}

/// So many sizes an octave, evenly between powers of two: caches are 32, 48 or 1280 KiB large.
fn steps(an_octave: usize, largest: usize) -> Vec<usize> {
    let octaves = (0..).map(|octave| SMALLEST << octave);
    let mut sizes: Vec<usize> = octaves
        .take_while(|size| *size <= largest)
        .flat_map(|size| (0..an_octave).map(move |part| size + size / an_octave * part))
        .filter(|size| *size <= largest)
        .collect();
    if sizes.last().is_some_and(|last| *last < largest / 64 * 63) {
        sizes.push(largest / 4096 * 4096);
    }
    sizes
}

/// All that are cheap, the largest, and of the others in each octave two that chance chooses.
fn thinned(all: &[usize], round: &Round) -> Vec<usize> {
    let mut random = round.random();
    let (mut sizes, costly): (Vec<usize>, Vec<usize>) =
        all.iter().partition(|size| **size <= CHEAP);
    for octave in costly.chunk_by(|a, b| a.ilog2() == b.ilog2()) {
        let mut octave = octave.to_vec();
        shuffle(&mut octave, &mut random);
        sizes.extend(octave.iter().take(2));
    }
    if let Some(largest) = all.last().filter(|largest| !sizes.contains(largest)) {
        sizes.push(*largest);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_meet_the_sizes_that_caches_have() {
        let all = steps(4, 128 << 20);
        for kib in [32, 48, 64, 256, 512, 1024, 1280, 2048, 32768] {
            assert!(all.contains(&(kib << 10)), "{kib}");
        }
        assert_eq!(all.last(), Some(&(128 << 20)));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(all.iter().all(|size| size % 64 == 0));
    }

    #[test]
    fn the_largest_is_met_wherever_it_lies() {
        for largest in [64 << 20, (64 << 20) + 8192, (9 << 20) + 4096 * 7, 5 << 10] {
            let last = *steps(8, largest).last().unwrap();
            assert!(
                last <= largest && last > largest / 64 * 62,
                "{last} {largest}"
            );
        }
        assert_eq!(steps(8, 512), Vec::<usize>::new());
    }
}
