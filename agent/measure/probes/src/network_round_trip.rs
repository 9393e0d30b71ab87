//! How long a byte takes to the other end and back.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};

use record::{Effort, Peer};
use transfer::protocol::session::Session;
use transfer::wire::Task;

use crate::loopback;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::quantiles::Times;

pub const PROBE: Probe = Probe {
    name: "network.round_trip",
    title: "one byte there and back",
    question: "How long does an answer over TCP and UDP take at least, and how long at times?",
    source: Some("SYSMEASURE, round trip; lmbench lat_tcp, lat_udp"),
    metrics: &[
        time(
            "network.round_trip.tcp_p50",
            "one byte over a TCP connection on the loopback and back, TCP_NODELAY, between two \
             processes on whatever CPUs the kernel gives them; median of the round's round trips",
            0.1,
        ),
        time(
            "network.round_trip.tcp_p99",
            "the same; 99 of 100 round trips are shorter",
            0.5,
        ),
        time(
            "network.round_trip.udp_p50",
            "one byte in a UDP datagram on the loopback and back, between two processes on \
             whatever CPUs the kernel gives them; median of the round's round trips",
            0.1,
        ),
        time(
            "network.round_trip.udp_p99",
            "the same; 99 of 100 round trips are shorter",
            0.5,
        ),
        time(
            "network.round_trip.remote.tcp_p50",
            "one byte over a TCP connection to the peer and back; median",
            0.1,
        ),
        time(
            "network.round_trip.remote.tcp_p99",
            "the same; 99 of 100 round trips are shorter",
            0.5,
        ),
        time(
            "network.round_trip.remote.udp_p50",
            "one byte in a UDP datagram to the peer and back; median of those that came back",
            0.1,
        ),
        time(
            "network.round_trip.remote.udp_p99",
            "the same; 99 of 100 that came back took less",
            0.5,
        ),
        Metric {
            name: "network.round_trip.remote.udp_lost",
            unit: "1",
            meaning: "part of the datagrams to the peer that did not come back within 0.5 s",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.5,
        },
    ],
    seconds: Seconds {
        brief: Some(0.05),
        quick: Some(0.2),
        whole: Some(0.6),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Round trips of one kind that a round has room for.
const ROOM: usize = 1 << 18;
/// Before caches, windows and acknowledgements have settled.
const WARM: usize = 32;
/// So many datagrams that are lost say that the rest is as well.
const LOST_LIMIT: u32 = 5;

const fn time(name: &'static str, meaning: &'static str, margin: f64) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin,
    }
}

fn perform(round: &Round) -> Result<(), String> {
    let brief = round.job.effort == Effort::Brief;
    let kinds = if brief { 1 } else { 2 };
    let ends = if round.job.peer.is_some() { 2 } else { 1 };
    let budget_ns = round.budget_ns() / kinds / ends;
    let tell = |what: &str, done: Result<(), String>| {
        done.unwrap_or_else(|why| round.unavailable(what, why));
    };
    tell("round trips over TCP", tcp(round, budget_ns));
    if !brief {
        tell("round trips over UDP", udp(round, budget_ns));
    }
    if let Some(peer) = &round.job.peer {
        let done = remote_tcp(round, peer, budget_ns);
        tell("round trips over TCP to the peer", done);
        if !brief {
            let done = remote_udp(round, peer, budget_ns);
            tell("round trips over UDP to the peer", done);
        }
    }
    Ok(())
}

fn tcp(round: &Round, budget_ns: i64) -> Result<(), String> {
    let (mut stream, _partner) = loopback::echo().map_err(told)?;
    let mut times = Times::with_room(ROOM);
    bounce(&mut stream, WARM).map_err(told)?;
    let filled = times.fill(budget_ns, || bounce(&mut stream, 1));
    filled.map_err(told)?;
    read(round, "network.round_trip.tcp", times);
    Ok(())
}

fn bounce(stream: &mut TcpStream, count: usize) -> io::Result<()> {
    for _ in 0..count {
        stream.write_all(&[1])?;
        stream.read_exact(&mut [0])?;
    }
    Ok(())
}

fn udp(round: &Round, budget_ns: i64) -> Result<(), String> {
    let (socket, _partner) = loopback::datagrams().map_err(told)?;
    let mut times = Times::with_room(ROOM);
    let filled = times.fill(budget_ns, || throw(&socket));
    filled.map_err(told)?;
    read(round, "network.round_trip.udp", times);
    Ok(())
}

fn throw(socket: &UdpSocket) -> io::Result<()> {
    socket.send(&[1])?;
    socket.recv(&mut [0]).map(drop)
}

fn remote_tcp(round: &Round, peer: &Peer, budget_ns: i64) -> Result<(), String> {
    let mut session = Session::open(peer)?;
    session.order(Task::Echo, 1, (ROOM + WARM) as u64)?;
    let mut times = Times::with_room(ROOM);
    bounce(&mut session.stream, WARM).map_err(told)?;
    let filled = times.fill(budget_ns, || bounce(&mut session.stream, 1));
    filled.map_err(told)?;
    read(round, "network.round_trip.remote.tcp", times);
    Ok(())
}

fn remote_udp(round: &Round, peer: &Peer, budget_ns: i64) -> Result<(), String> {
    let mut session = Session::open(peer)?;
    let socket = session.datagrams(1, ROOM as u64)?;
    let mut times = Times::with_room(ROOM);
    let mut lost = 0;
    let mut number = 0_u8;
    let filled = times.fill(budget_ns, || {
        // One that comes late is not taken for the next.
        number = number.wrapping_add(1);
        socket.send(&[number])?;
        loop {
            let mut back = [0];
            match socket.recv(&mut back) {
                Ok(_) if back == [number] => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    lost += 1;
                    return if lost < LOST_LIMIT {
                        Ok(())
                    } else {
                        Err(error)
                    };
                }
            }
        }
    });
    let _ = socket.send(&[]);
    filled.map_err(|_| format!("{lost} datagrams were lost"))?;
    let sent = times.count() as f64;
    round.read("network.round_trip.remote.udp_lost", f64::from(lost) / sent);
    read(round, "network.round_trip.remote.udp", times);
    Ok(())
}

fn read(round: &Round, metric: &str, times: Times) {
    let sorted = times.sort();
    round.read(&format!("{metric}_p50"), sorted.quantile(0.5));
    // Of so short a round a tail tells what disturbed it, not what the machine is like.
    if round.job.effort != Effort::Brief {
        round.read(&format!("{metric}_p99"), sorted.quantile(0.99));
    }
}

fn told(error: io::Error) -> String {
    error.to_string()
}
