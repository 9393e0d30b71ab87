//! How many bytes a second go through a TCP connection, by the size of the writes.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use sys::clock;
use transfer::protocol::session::Session;
use transfer::protocol::tasks;
use transfer::wire::Task;

use crate::loopback;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};

pub const PROBE: Probe = Probe {
    name: "network.bandwidth",
    title: "bytes through a TCP connection",
    question: "How much goes through a connection, and how large must messages be for it?",
    source: Some("SYSMEASURE, bandwidth; iperf3 -l"),
    metrics: &[
        rate(
            "network.bandwidth.loopback",
            "writes of 128 KiB over a TCP connection on the loopback, read in reads as large by \
             another process; from the first write until the reader has said that it has all; \
             best of windows",
            &[],
        ),
        rate(
            "network.bandwidth.by_size",
            "the same over the size of writes and reads",
            &[MESSAGE],
        ),
        rate(
            "network.bandwidth.remote",
            "writes of 128 KiB over a TCP connection to the peer; from the first write until the \
             peer has said that it has all; best of windows",
            &[],
        ),
        rate(
            "network.bandwidth.remote_by_size",
            "the same over the size of writes and reads",
            &[MESSAGE],
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.35),
        whole: Some(1.2),
    },
    repeats: true,
    needs: &[],
    perform,
};

const MESSAGE: Axis = Axis {
    name: "message_bytes",
    unit: "bytes",
    meaning: "size of each write and read",
};
/// The size that bears a name first: its windows get half of the time.
const HEADLINE: usize = 128 << 10;
const SIZES: [usize; 6] = [HEADLINE, 64, 1 << 10, 8 << 10, 32 << 10, 1 << 20];
/// Long beside the round trip at its end and what fits into the sockets' buffers at its start.
const WINDOW_NS: i64 = 8_000_000;
/// A window through the slowest network has an end as well.
const FIRST_BYTES: usize = 256 << 10;
const MOST_BYTES: u64 = 8 << 30;

const fn rate(name: &'static str, meaning: &'static str, axes: &'static [Axis]) -> Metric {
    Metric {
        name,
        unit: "B/s",
        meaning,
        axes,
        listed: false,
        better: Better::Higher,
        margin: 0.1,
    }
}

fn perform(round: &Round) -> Result<(), String> {
    let budget_ns = round.budget_ns() / if round.job.peer.is_some() { 2 } else { 1 };
    let tell = |what: &str, done: Result<(), String>| {
        done.unwrap_or_else(|why| round.unavailable(what, why));
    };
    tell("bandwidth of the loopback", here(round, budget_ns));
    if round.job.peer.is_some() {
        tell("bandwidth to the peer", there(round, budget_ns));
    }
    Ok(())
}

fn here(round: &Round, budget_ns: i64) -> Result<(), String> {
    let (mut stream, _partner) = loopback::taker().map_err(told)?;
    sweep(round, "loopback", "by_size", budget_ns, |message, count| {
        let total = count * message.len() as u64;
        let order = [(message.len() as u64).to_be_bytes(), total.to_be_bytes()];
        stream.write_all(&order.concat()).map_err(told)?;
        window(&mut stream, message, count).map_err(told)
    })
}

fn there(round: &Round, budget_ns: i64) -> Result<(), String> {
    let peer = round.job.peer.as_ref().ok_or("there is no peer")?;
    let mut session = Session::open(peer)?;
    sweep(
        round,
        "remote",
        "remote_by_size",
        budget_ns,
        |message, count| {
            session.order(Task::Take, message.len() as u32, count)?;
            window(&mut session.stream, message, count).map_err(told)
        },
    )
}

/// Every size in windows, the best of which counts.
fn sweep(
    round: &Round,
    figure: &str,
    curve: &str,
    budget_ns: i64,
    mut window: impl FnMut(&[u8], u64) -> Result<i64, String>,
) -> Result<(), String> {
    let buffer = tasks::buffer();
    for size in SIZES {
        let message = &buffer[..size];
        let share_ns = if size == HEADLINE {
            budget_ns / 2
        } else {
            budget_ns / 2 / (SIZES.len() as i64 - 1)
        };
        let best = best(message, share_ns, &mut window)?;
        if size == HEADLINE {
            round.read(&format!("network.bandwidth.{figure}"), best);
        }
        let metric = format!("network.bandwidth.{curve}");
        round.read_at(&metric, &[size as i64], best);
    }
    Ok(())
}

fn best(
    message: &[u8],
    budget_ns: i64,
    window: &mut impl FnMut(&[u8], u64) -> Result<i64, String>,
) -> Result<f64, String> {
    let end = clock::monotonic() + budget_ns;
    let size = message.len() as u64;
    let most = MOST_BYTES / size;
    let mut count = (FIRST_BYTES as u64 / size).max(1);
    let mut best = f64::NAN;
    loop {
        let taken = window(message, count)?.max(1);
        if taken >= WINDOW_NS / 2 || count == most || clock::monotonic() >= end {
            best = best.max((count * size) as f64 / taken as f64 * 1e9);
        }
        if clock::monotonic() >= end {
            return Ok(best);
        }
        if taken < WINDOW_NS / 2 {
            let fitting = count as f64 * (WINDOW_NS as f64 / taken as f64).clamp(1.5, 8.0);
            count = (fitting as u64 + 1).min(most);
        }
    }
}

/// Sends messages, and returns the time until the other end has them all.
fn window(stream: &mut TcpStream, message: &[u8], count: u64) -> io::Result<i64> {
    stream.set_nodelay(false)?;
    let start = clock::monotonic();
    for _ in 0..count {
        stream.write_all(message)?;
    }
    // The last, if it is small, would wait for an acknowledgement of the others.
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0])?;
    Ok(clock::monotonic() - start)
}

fn told(error: io::Error) -> String {
    error.to_string()
}
