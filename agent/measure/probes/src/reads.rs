//! Reads past the page cache, one at a time, in order or at random: what is measured of a disk
//! here and of one behind a network.

use std::io;
use std::path::Path;

use rand_pcg::rand_core::RngCore;

use crate::direct::{Direct, Place};
use crate::probe::{Axis, Better, Metric, Round};
use crate::quantiles::Times;

pub const BLOCK: Axis = Axis {
    name: "block_bytes",
    unit: "bytes",
    meaning: "size of each read",
};
pub const EXTENT: Axis = Axis {
    name: "file_bytes",
    unit: "bytes",
    meaning: "how much of the file is read, from its start",
};

pub const BLOCKS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
pub const SMALLEST: u64 = 1 << 20;
/// Extents that are read in KiB: densest where a short file's reads change from one disk track to
/// several (SYSMEASURE, file read time and remote file read time: 128 KiB to 1.5 and 3 MiB).
const EXTENTS_KIB: [u64; 13] = [
    64, 128, 256, 512, 768, 1024, 1280, 1536, 2048, 3072, 16_384, 65_536, 262_144,
];
const ROOM: usize = 1 << 15;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Sequential,
    Random,
}

impl Order {
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Random];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

pub const fn latency(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[BLOCK],
        listed: true,
        better: Better::Lower,
        margin: 0.1,
    }
}

pub const fn bandwidth(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "B/s",
        meaning,
        axes: &[BLOCK],
        listed: true,
        better: Better::Higher,
        margin: 0.1,
    }
}

pub const fn by_size(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[EXTENT],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }
}

/// Both orders, all block sizes, and 4 KiB over how much is read.
pub fn measure(
    round: &Round,
    place: &Place,
    family: &str,
    file_bytes: u64,
    budget_ns: i64,
) -> Result<(), String> {
    let path = place.file("read", file_bytes)?;
    let mut direct = Direct::open(&path, BLOCKS[BLOCKS.len() - 1])?;
    let mut random = round.random();
    let extents = EXTENTS_KIB.iter().map(|kib| kib << 10);
    let extents: Vec<u64> = extents.filter(|extent| *extent <= file_bytes).collect();
    let curve = extents.len() as i64 * 2;
    // Three quarters for the figures, the rest for the curves.
    let share_ns = budget_ns * 3 / 4 / (BLOCKS.len() as i64 * 2);
    for order in Order::ALL {
        for block in BLOCKS {
            let reads = Reads {
                block,
                extent: file_bytes,
                order,
            };
            let times = reads.perform(&mut direct, &mut random, share_ns, &path)?;
            let bytes = times.count() as f64 * block as f64;
            let metric = format!("{family}.{}", order.name());
            let at = [block as i64];
            let speed = bytes / times.total() * 1e9;
            round.read_at(&format!("{metric}.bandwidth"), &at, speed);
            let median = times.sort().quantile(0.5);
            round.read_at(&format!("{metric}.latency"), &at, median);
        }
        for &extent in &extents {
            let reads = Reads {
                block: BLOCKS[0],
                extent,
                order,
            };
            let share_ns = budget_ns / 4 / curve;
            let times = reads.perform(&mut direct, &mut random, share_ns, &path)?;
            let median = times.sort().quantile(0.5);
            let metric = format!("{family}.by_size.{}", order.name());
            round.read_at(&metric, &[extent as i64], median);
        }
    }
    Ok(())
}

struct Reads {
    block: usize,
    extent: u64,
    order: Order,
}

impl Reads {
    fn perform(
        &self,
        direct: &mut Direct,
        random: &mut impl RngCore,
        budget_ns: i64,
        path: &Path,
    ) -> Result<Times, String> {
        let blocks = self.extent / self.block as u64;
        let mut place = 0;
        let mut times = Times::with_room(ROOM);
        let filled = times.fill(budget_ns, || -> io::Result<()> {
            place = match self.order {
                Order::Sequential => (place + 1) % blocks,
                // A remainder of 64 bits: as even as anybody could tell.
                Order::Random => random.next_u64() % blocks,
            };
            direct.read(self.block, place * self.block as u64)
        });
        filled.map_err(|error| crate::direct::at(path, &error))?;
        Ok(times)
    }
}
