//! Reading a file from the disk itself.

use record::Effort;

use crate::direct::Place;
use crate::probe::{Need, Probe, Round, Seconds};
use crate::reads::{bandwidth, by_size, latency, measure, SMALLEST};

pub const PROBE: Probe = Probe {
    name: "file.read",
    title: "reading a file from the disk",
    question: "How fast does the disk answer, in order and at random?",
    source: Some("SYSMEASURE, file read; fio psync, direct=1, iodepth=1"),
    metrics: &[
        latency(
            "file.read.sequential.latency",
            "one read past the page cache (O_DIRECT, pread, one at a time), block after block, of \
             a file of random data; median of the round's reads. What caches lie behind (the \
             disk's, a host's) answers as well",
        ),
        bandwidth(
            "file.read.sequential.bandwidth",
            "bytes of all these reads, over the time of all of them",
        ),
        by_size(
            "file.read.by_size.sequential",
            "one such read of 4 KiB, over how much of the file is read; median",
        ),
        latency(
            "file.read.random.latency",
            "one read past the page cache, of a block chosen at random; median of the round's reads",
        ),
        bandwidth(
            "file.read.random.bandwidth",
            "bytes of all these reads, over the time of all of them",
        ),
        by_size(
            "file.read.by_size.random",
            "one such read of 4 KiB, over how much of the file is read; median",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.35),
        whole: Some(2.0),
    },
    repeats: true,
    needs: &[Need::Directory],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    let place = Place::on_disk(round, round.job.directory.as_deref())?;
    let wanted = match round.job.effort {
        Effort::Whole => 256 << 20,
        Effort::Quick | Effort::Brief => 64 << 20,
    };
    let bytes = 1 << place.fitting(wanted, SMALLEST)?.ilog2();
    measure(round, &place, "file.read", bytes, round.budget_ns())
}
