//! How many pages a CPU knows the places of, and what a load costs beyond them.

use record::Effort;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::chase::{Caches, Ring};
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};

const LATENCY: &str = "memory.tlb.latency";
const COST: &str = "memory.tlb.cost";

const AXES: &[Axis] = &[
    Axis {
        name: "pages",
        unit: "1",
        meaning: "pages that the loads go around in, one line of each",
    },
    Axis {
        name: "page_bytes",
        unit: "bytes",
        meaning: "of each page",
    },
];

pub const PROBE: Probe = Probe {
    name: "memory.tlb",
    title: "reach of the translation buffers",
    question: "How many pages can a program use before it pays for finding them?",
    source: Some("Saavedra and Smith 1995"),
    metrics: &[
        Metric {
            name: LATENCY,
            unit: "ns",
            meaning: "one of dependent loads in random order through one line of each page, in \
                      another place of each, so that all sets of a cache are used; least of \
                      windows. Huge pages in an effort of whole only",
            axes: AXES,
            listed: false,
            better: Better::Lower,
            margin: 0.05,
        },
        Metric {
            name: COST,
            unit: "ns",
            meaning: "the same less the latency of as many lines side by side, which as many \
                      cache lines hold, but few pages",
            axes: AXES,
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.25),
        whole: Some(1.5),
    },
    repeats: true,
    needs: &[],
    perform,
};

const FEWEST: usize = 16;
/// More pages than any second TLB holds.
const QUICK: usize = 8 << 10;
const WHOLE: usize = 32 << 10;
/// Memory for huge pages, which are there to be touched, not to fill a machine.
const MOST: usize = 1 << 30;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let most = match round.job.effort {
        Effort::Whole => WHOLE,
        _ => QUICK,
    };
    measure(round, Pages::Small, most)?;
    if round.job.effort == Effort::Whole {
        if let Err(why) = measure(round, Pages::Huge, MOST / Pages::Huge.bytes()) {
            round.unavailable("memory.tlb with huge pages", why);
        }
    }
    Ok(())
}

fn measure(round: &Round, pages: Pages, most: usize) -> Result<(), String> {
    let page = pages.bytes();
    let most = most.min(round.job.memory_bytes as usize / page);
    if most < FEWEST {
        return Err("the memory that may be taken is too little: --memory \"256 MiB\"".to_string());
    }
    let buffer = Buffer::new(most * page, pages)?;
    let line = Caches::of(round.home()).line;
    let (an_octave, each_ns) = match round.job.effort {
        Effort::Whole => (4, 4_000_000),
        _ => (2, 3_000_000),
    };
    let mut random = round.random();
    for count in counts(an_octave, most) {
        let mut apart: Vec<u32> = (0..count)
            .map(|index| staggered(index, page / line))
            .collect();
        let apart = Ring::new(&buffer, &mut apart, line, &mut random).least(each_ns, false);
        let mut dense: Vec<u32> = (0..count as u32).collect();
        let dense = Ring::new(&buffer, &mut dense, line, &mut random).least(each_ns, false);
        let at = [count as i64, page as i64];
        round.read_at(LATENCY, &at, apart);
        round.read_at(COST, &at, apart - dense);
    }
    Ok(())
}

/// The line that is used of a page, in lines from the first page's first.
fn staggered(page: usize, lines: usize) -> u32 {
    (page * lines + page % lines) as u32
}

/// Numbers of pages, evenly between powers of two.
fn counts(an_octave: usize, most: usize) -> impl Iterator<Item = usize> {
    let octaves = (0..).map(|octave| FEWEST << octave);
    octaves
        .take_while(move |count| *count <= most)
        .flat_map(move |count| (0..an_octave).map(move |part| count + count / an_octave * part))
        .filter(move |count| *count <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_one_line_and_every_set_as_many() {
        let lines = 64;
        let places: Vec<u32> = (0..256).map(|page| staggered(page, lines)).collect();
        for (page, place) in places.iter().enumerate() {
            assert_eq!(*place as usize / lines, page);
        }
        for set in 0..lines as u32 {
            let there = places.iter().filter(|place| *place % 64 == set).count();
            assert_eq!(there, 4);
        }
    }

    #[test]
    fn counts_grow_to_the_most() {
        let found: Vec<usize> = counts(2, 64).collect();
        assert_eq!(found, [16, 24, 32, 48, 64]);
    }
}
