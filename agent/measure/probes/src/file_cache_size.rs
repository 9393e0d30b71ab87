//! How much of a file memory keeps: in a control group, or on the whole machine.

use std::fs::File;
use std::path::Path;

use sys::cgroup;
use sys::clock;

use crate::direct::{at, forget, Place};
use crate::file_cache::{counts_blocks, pass, reread};
use crate::probe::{Axis, Better, Metric, Need, Probe, Round, Seconds};

pub const PROBE: Probe = Probe {
    name: "file.cache_size",
    title: "size of the file cache",
    question: "How large a file does memory keep?",
    source: Some("SYSMEASURE, file cache size"),
    metrics: &[
        size(
            "file.cache_size.group",
            "largest part of a file that was read once more without the disk, as the kernel counts \
             the blocks that it reads (all but 1/16), where the next larger part needed the disk; \
             in a control group of known memory, of which it is the cache and not the machine's",
        ),
        size(
            "file.cache_size.machine",
            "the same outside of such a group: the machine's own cache (or that of the limit that \
             tare itself is under)",
        ),
        Metric {
            name: "file.cache_size.fall",
            unit: "1",
            meaning: "speed of reading the largest part that memory keeps once more, as a multiple \
                      of the speed with the largest part that was read",
            axes: &[],
            listed: false,
            better: Better::Neither,
            margin: 0.5,
        },
        Metric {
            name: "file.cache_size.by_size",
            unit: "B/s",
            meaning: "reading so much of a file once more, in reads of 64 KiB; best of passes, from \
                      the fall on the first",
            axes: &[Axis {
                name: "file_bytes",
                unit: "bytes",
                meaning: "how much of the file is read, from its start, in equal steps",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.2,
        },
    ],
    // Of a cache of 1 GiB.
    seconds: Seconds {
        brief: None,
        quick: None,
        whole: Some(20.0),
    },
    repeats: false,
    needs: &[Need::Directory, Need::FileCache],
    perform,
};

const fn size(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "bytes",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Higher,
        margin: 0.25,
    }
}

/// Of a file of twice the cache's memory, half of these are beyond it.
const STEPS: u64 = 16;
const SMALLEST: u64 = 1 << 20;

fn perform(round: &Round) -> Result<(), String> {
    let cache = round.job.file_cache.as_ref();
    let cache = cache.ok_or("no memory was given that files may fill: --file-cache SIZE")?;
    if let Some(group) = &cache.group {
        // Before the file is written: its pages are the group's from the start.
        let group = Path::new(group);
        cgroup::enter(group).map_err(|error| at(group, &error))?;
    }
    let metric = match cache.group {
        Some(_) => "file.cache_size.group",
        None => "file.cache_size.machine",
    };
    let place = Place::on_disk(round, round.job.directory.as_deref())?;
    let most = place.fitting_within(cache.file_bytes, STEPS * SMALLEST, cache.file_bytes)?;
    let sizes = sizes(most);
    let path = place.file("cache-size", sizes[sizes.len() - 1])?;
    let file = File::open(&path).map_err(|error| at(&path, &error))?;
    if !counts_blocks(&file, &path)? {
        let name = place.kind.name();
        return Err(format!("{metric}: {name} does not count what it reads"));
    }
    // Slow disks see the fall and not all of what is beyond it.
    let deadline = clock::monotonic() + round.job.timeout_ns as i64 / 5 * 3;
    let found = walk(round, &file, &sizes, deadline).map_err(|error| at(&path, &error))?;
    forget(&file);
    match (found.kept, found.beyond) {
        (Some((size, speed)), Some(beyond)) => {
            round.read(metric, size as f64);
            round.read("file.cache_size.fall", speed / beyond);
        }
        (Some((size, _)), None) => round.unavailable(
            metric,
            format!(
                "at least {} MiB: no larger part was read, for the limit of the file \
                 (--max-file-size), the room on the disk, or the time (--budget)",
                size >> 20
            ),
        ),
        (None, _) => round.unavailable(metric, "not even the smallest part stayed in memory"),
    }
    Ok(())
}

/// Ends of a walk along the sizes.
#[derive(Default)]
struct Found {
    /// Largest part that stayed in memory, and its speed.
    kept: Option<(u64, f64)>,
    /// Speed with the largest part, if that needed the disk.
    beyond: Option<f64>,
}

fn walk(round: &Round, file: &File, sizes: &[u64], deadline: i64) -> std::io::Result<Found> {
    let mut found = Found::default();
    for &size in sizes {
        if clock::monotonic() > deadline {
            break;
        }
        // What was read before has already driven the start of the file out.
        let read = match found.beyond {
            None => reread(file, size, deadline)?,
            Some(_) => pass(file, size)?,
        };
        round.read_at("file.cache_size.by_size", &[size as i64], read.speed);
        if found.beyond.is_some() || read.is_lost(size) {
            found.beyond = Some(read.speed);
        } else {
            found.kept = Some((size, read.speed));
        }
    }
    Ok(found)
}

/// Equal steps up to the bound, in whole MiB.
fn sizes(most: u64) -> Vec<u64> {
    let step = most / STEPS / SMALLEST * SMALLEST;
    (1..=STEPS).map(|n| n * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_linear_to_twice_the_memory() {
        for memory in [8 << 20, 64 << 20, 1 << 30, (1 << 30) + 12345] {
            let sizes = sizes(2 * memory);
            assert!(sizes.len() >= 16);
            assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] == sizes[0]));
            let last = sizes[sizes.len() - 1];
            assert!(last <= 2 * memory && 2 * memory - last < STEPS * SMALLEST);
        }
    }
}
