//! How fast a file is read once more.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use record::Effort;
use sys::cgroup;
use sys::clock;

use crate::direct::{at, forget, Place};
use crate::probe::{Axis, Better, Metric, Need, Probe, Round, Seconds};

pub const PROBE: Probe = Probe {
    name: "file.cache",
    title: "reading a file once more",
    question: "How fast does memory give a file back?",
    source: Some("SYSMEASURE, file cache; CSE 221"),
    metrics: &[
        Metric {
            name: "file.cache.speed",
            unit: "B/s",
            meaning: "reading the largest size that stays in memory once more, in reads of \
                      64 KiB, on one CPU; best of passes",
            axes: &[],
            listed: false,
            better: Better::Higher,
            margin: 0.1,
        },
        Metric {
            name: "file.cache.by_size",
            unit: "B/s",
            meaning: "reading so much of a file once more; best of passes",
            axes: &[Axis {
                name: "file_bytes",
                unit: "bytes",
                meaning: "how much of the file is read, from its start",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.2),
        whole: Some(1.0),
    },
    repeats: true,
    needs: &[Need::Directory],
    perform,
};

const CHUNK: usize = 64 << 10;
const SMALLEST: u64 = 1 << 20;
const QUICK: u64 = 64 << 20;
/// One pass says little of a small part.
const PASSES: usize = 3;
/// This part of a size has to come from the disk for it to be too large for memory; single pages
/// are lost for other reasons.
const LOST: u64 = 16;

fn perform(round: &Round) -> Result<(), String> {
    let place = Place::on_disk(round, round.job.directory.as_deref())?;
    let bytes = place.fitting(bound(round), SMALLEST)? / SMALLEST * SMALLEST;
    let path = place.file("cache", bytes)?;
    let file = File::open(&path).map_err(|error| at(&path, &error))?;
    let counted = counts_blocks(&file, &path)?;
    let end = clock::monotonic() + round.budget_ns();
    let mut held = None;
    for size in sizes(bytes, round.job.effort) {
        let pass = reread(&file, size, end).map_err(|error| at(&path, &error))?;
        round.read_at("file.cache.by_size", &[size as i64], pass.speed);
        if counted && pass.is_lost(size) {
            break;
        }
        held = Some(pass.speed);
    }
    forget(&file);
    match held {
        Some(speed) => round.read("file.cache.speed", speed),
        None => round.unavailable(
            "file.cache.speed",
            "not even the smallest part stayed there",
        ),
    }
    Ok(())
}

/// Powers of two up to the bound and it itself, and finer near it, where memory's end may lie.
fn sizes(most: u64, effort: Effort) -> Vec<u64> {
    let powers = (SMALLEST.ilog2()..=most.ilog2()).map(|power| 1 << power);
    let mut sizes: Vec<u64> = powers.chain([most]).collect();
    if effort == Effort::Whole {
        let finer = [5, 6, 7, 10, 12, 14].map(|sixteenths| most / 16 * sixteenths);
        sizes.extend(finer.into_iter().filter(|size| *size > SMALLEST));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Most that is tried.
fn bound(round: &Round) -> u64 {
    let job = &round.job;
    let mut bounds = vec![job.file_bytes, job.memory_bytes];
    if round.job.effort != Effort::Whole {
        bounds.push(QUICK);
    }
    // Others' pages are not driven out of memory.
    bounds.extend(available().map(|available| available / 2));
    // Beyond its own limit a group drives out nothing but its own pages.
    bounds.extend(cgroup::memory_limit().map(|limit| limit.saturating_add(limit / 2)));
    bounds.into_iter().min().expect("there are two at least")
}

fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Whether the kernel counts what this file system reads from its disk: it must for a file that is
/// not in memory.
pub fn counts_blocks(file: &File, path: &Path) -> Result<bool, String> {
    forget(file);
    let before = blocks_read();
    read_all(file, SMALLEST, &mut vec![0; CHUNK]).map_err(|error| at(path, &error))?;
    Ok((blocks_read() - before) * 512 >= SMALLEST / 2)
}

/// Of 512 bytes, by this process, from disks.
fn blocks_read() -> u64 {
    // SAFETY: writes one record, all of it numbers.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_inblock as u64
    }
}

/// Of reading so much of a file.
pub struct Pass {
    pub speed: f64,
    pub from_disk: u64,
}

impl Pass {
    /// Whether a part that matters was not in memory.
    pub fn is_lost(&self, bytes: u64) -> bool {
        self.from_disk > bytes / LOST
    }
}

/// Once to bring it into memory, then once more: the best of some times, of which the least came
/// from the disk.
pub fn reread(file: &File, bytes: u64, deadline_ns: i64) -> io::Result<Pass> {
    read_all(file, bytes, &mut vec![0; CHUNK])?;
    let mut best = pass(file, bytes)?;
    for _ in 1..PASSES {
        if clock::monotonic() > deadline_ns {
            break;
        }
        let next = pass(file, bytes)?;
        best.speed = best.speed.max(next.speed);
        best.from_disk = best.from_disk.min(next.from_disk);
    }
    Ok(best)
}

/// Reads the start of a file once.
pub fn pass(file: &File, bytes: u64) -> io::Result<Pass> {
    let mut buffer = vec![0; CHUNK];
    let (before, start) = (blocks_read(), clock::monotonic());
    read_all(file, bytes, &mut buffer)?;
    let taken = clock::monotonic() - start;
    Ok(Pass {
        speed: bytes as f64 / taken.max(1) as f64 * 1e9,
        from_disk: (blocks_read() - before) * 512,
    })
}

fn read_all(file: &File, bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut offset = 0;
    while offset < bytes {
        let most = (bytes - offset).min(buffer.len() as u64) as usize;
        match file.read_at(&mut buffer[..most], offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => offset += got as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rise_to_the_bound_and_end_there() {
        for effort in [Effort::Quick, Effort::Whole] {
            for most in [SMALLEST, 64 << 20, 96 << 20, 256 << 20] {
                let sizes = sizes(most, effort);
                assert_eq!((sizes[0], sizes[sizes.len() - 1]), (SMALLEST, most));
                assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(sizes.iter().all(|size| size % CHUNK as u64 == 0));
            }
        }
    }
}
