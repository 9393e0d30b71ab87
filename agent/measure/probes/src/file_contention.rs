//! What other readers cost one reader.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::clock;
use sys::mapping::{self, Mapping};

use crate::direct::{at, Direct, Place};
use crate::partner::Partner;
use crate::probe::{Axis, Better, Metric, Need, Probe, Round, Seconds};
use crate::quantiles::Times;

pub const PROBE: Probe = Probe {
    name: "file.contention",
    title: "reading while others read",
    question: "How much longer does a read take while others read all the time?",
    source: Some("SYSMEASURE, contention"),
    metrics: &[
        Metric {
            name: "file.contention.latency",
            unit: "ns",
            meaning:
                "one read of 4 KiB past the page cache (O_DIRECT), of a file of 64 KiB, while \
                      so many other processes do the same with a file of their own; median. With \
                      more readers than CPUs it is their scheduling as much as the disk",
            axes: &[Axis {
                name: "readers",
                unit: "1",
                meaning: "other readers",
            }],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "file.contention.slowdown",
            unit: "1",
            meaning: "that latency beside nine others, as a multiple of the one alone",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.25),
        whole: Some(0.8),
    },
    repeats: true,
    needs: &[Need::Directory],
    perform,
};

const OTHERS: usize = 9;
const FILE_BYTES: u64 = 64 << 10;
const BLOCK: usize = 4096;
const ROOM: usize = 1 << 15;
/// Starting a process takes less.
const PATIENCE_NS: i64 = 2_000_000_000;

fn perform(round: &Round) -> Result<(), String> {
    let place = Place::on_disk(round, round.job.directory.as_deref())?;
    place.fitting(FILE_BYTES * (OTHERS as u64 + 1), FILE_BYTES)?;
    let file = |number| place.file(&format!("contention-{number}"), FILE_BYTES);
    let files = (0..=OTHERS).map(file).collect::<Result<Vec<_>, _>>()?;
    let share_ns = round.budget_ns() / (OTHERS as i64 + 1);
    let mut alone = f64::NAN;
    for others in 0..=OTHERS {
        let median = beside(&files, others, share_ns)?;
        round.read_at("file.contention.latency", &[others as i64], median);
        if others == 0 {
            alone = median;
        } else if others == OTHERS {
            round.read("file.contention.slowdown", median / alone);
        }
    }
    Ok(())
}

/// Median of reads beside so many others, who have begun before and go on until after.
fn beside(files: &[PathBuf], others: usize, budget_ns: i64) -> Result<f64, String> {
    let cannot = |error| format!("no memory to share with other readers: {error}");
    let page = mapping::memory_file(4096).map_err(cannot)?;
    let page = Mapping::shared(page.as_fd(), 4096).map_err(cannot)?;
    // SAFETY: an atomic is valid for any bytes.
    let at_work: &AtomicU32 = unsafe { page.at(0) };
    let mut partners = Vec::new();
    for path in &files[1..=others] {
        let partner = Partner::start(|| read_on(path, at_work));
        partners.push(partner.map_err(|error| format!("cannot start a reader: {error}"))?);
    }
    let mut direct = Direct::open(&files[0], BLOCK)?;
    let end = clock::monotonic() + PATIENCE_NS;
    while at_work.load(Ordering::Acquire) < others as u32 {
        if clock::monotonic() > end {
            return Err(format!("not all {others} other readers have begun"));
        }
        std::thread::yield_now();
    }
    let mut times = Times::with_room(ROOM);
    let mut number = 0;
    let filled = times.fill(budget_ns, || {
        number += 1;
        direct.read(BLOCK, offset(number))
    });
    filled.map_err(|error| at(&files[0], &error))?;
    Ok(times.sort().quantile(0.5))
}

/// Another reader, until it is killed.
fn read_on(path: &std::path::Path, at_work: &AtomicU32) {
    let Ok(mut direct) = Direct::open(path, BLOCK) else {
        return;
    };
    let mut number = 0;
    while direct.read(BLOCK, offset(number)).is_ok() {
        if number == 0 {
            at_work.fetch_add(1, Ordering::Release);
        }
        number += 1;
    }
}

fn offset(number: u64) -> u64 {
    number * BLOCK as u64 % FILE_BYTES
}
