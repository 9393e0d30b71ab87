//! Reading a file from another machine's disk.

use crate::direct::Place;
use crate::probe::{Need, Probe, Round, Seconds};
use crate::reads::{bandwidth, by_size, latency, measure, SMALLEST};

pub const PROBE: Probe = Probe {
    name: "file.remote",
    title: "reading a file from another machine's disk",
    question: "How fast does a mounted file system of another machine answer?",
    source: Some("SYSMEASURE, remote file read; fio psync, direct=1, iodepth=1"),
    metrics: &[
        latency(
            "file.remote.sequential.latency",
            "one read with O_DIRECT, block after block, of a file of random data on the remote \
             path; median of the round's reads. It goes past this machine's page cache; the \
             server's answers as well, which the file was written through",
        ),
        bandwidth(
            "file.remote.sequential.bandwidth",
            "bytes of all these reads, over the time of all of them",
        ),
        by_size(
            "file.remote.by_size.sequential",
            "one such read of 4 KiB, over how much of the file is read; median",
        ),
        latency(
            "file.remote.random.latency",
            "one such read of a block chosen at random; median of the round's reads",
        ),
        bandwidth(
            "file.remote.random.bandwidth",
            "bytes of all these reads, over the time of all of them",
        ),
        by_size(
            "file.remote.by_size.random",
            "one such read of 4 KiB, over how much of the file is read; median",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.35),
        whole: Some(2.0),
    },
    repeats: true,
    needs: &[Need::Remote],
    perform,
};

/// It has to go over the network first.
const FILE_BYTES: u64 = 16 << 20;

fn perform(round: &Round) -> Result<(), String> {
    let place = Place::on_disk(round, round.job.remote.as_deref())?;
    let bytes = 1 << place.fitting(FILE_BYTES, SMALLEST)?.ilog2();
    measure(round, &place, "file.remote", bytes, round.budget_ns())
}
