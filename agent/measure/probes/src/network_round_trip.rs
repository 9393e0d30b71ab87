//! Time that a message takes to the other end and back.

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
    title: "a message there and back",
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
            "network.round_trip.tcp56_p50",
            "56 bytes, the payload of ping, over such a connection and back; median. Not in an \
             effort of brief",
            0.1,
        ),
        time(
            "network.round_trip.tcp56_p99",
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
            "network.round_trip.remote.tcp56_p50",
            "56 bytes, the payload of ping, over such a connection and back; median. Not in an \
             effort of brief",
            0.1,
        ),
        time(
            "network.round_trip.remote.tcp56_p99",
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
        whole: Some(0.8),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Bytes of a message, by the metric's name: one, and the payload that ping sends by default.
const TCP: &[Size] = &[("tcp", 1), ("tcp56", 56)];
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
    let sizes = if brief { &TCP[..1] } else { TCP };
    let kinds = if brief { 1 } else { 3 };
    let ends = if round.job.peer.is_some() { 2 } else { 1 };
    let budget_ns = round.budget_ns() / kinds / ends;
    let tell = |what: &str, done: Result<(), String>| {
        done.unwrap_or_else(|why| round.unavailable(what, why));
    };
    // What fails for one size fails for the other, and is reported once.
    let done = sizes
        .iter()
        .try_for_each(|size| tcp(round, *size, budget_ns));
    tell("round trips over TCP", done);
    if !brief {
        tell("round trips over UDP", udp(round, budget_ns));
    }
    if let Some(peer) = &round.job.peer {
        let mut sizes = sizes.iter();
        let done = sizes.try_for_each(|size| remote_tcp(round, peer, *size, budget_ns));
        tell("round trips over TCP to the peer", done);
        if !brief {
            let done = remote_udp(round, peer, budget_ns);
            tell("round trips over UDP to the peer", done);
        }
    }
    Ok(())
}

type Size = (&'static str, usize);

fn tcp(round: &Round, (name, bytes): Size, budget_ns: i64) -> Result<(), String> {
    let (mut stream, _partner) = loopback::echo(bytes).map_err(told)?;
    let times = bounce(&mut stream, bytes, budget_ns).map_err(told)?;
    read(round, &format!("network.round_trip.{name}"), times);
    Ok(())
}

/// Times of messages there and back, after some that are not counted.
fn bounce(stream: &mut TcpStream, bytes: usize, budget_ns: i64) -> io::Result<Times> {
    let mut times = Times::with_room(ROOM);
    let mut message = vec![1; bytes];
    let mut once = || {
        stream.write_all(&message)?;
        stream.read_exact(&mut message)
    };
    for _ in 0..WARM {
        once()?;
    }
    times.fill(budget_ns, once)?;
    Ok(times)
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

fn remote_tcp(
    round: &Round,
    peer: &Peer,
    (name, bytes): Size,
    budget_ns: i64,
) -> Result<(), String> {
    let mut session = Session::open(peer)?;
    session.order(Task::Echo, bytes as u32, (ROOM + WARM) as u64)?;
    let times = bounce(&mut session.stream, bytes, budget_ns).map_err(told)?;
    read(round, &format!("network.round_trip.remote.{name}"), times);
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_message_has_the_bytes_of_its_metric() {
        for (name, bytes) in TCP {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let echoed = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let (mut buffer, mut total) = ([0; 4096], 0);
                loop {
                    let length = stream.read(&mut buffer).unwrap();
                    if length == 0 {
                        return total;
                    }
                    stream.write_all(&buffer[..length]).unwrap();
                    total += length;
                }
            });
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            let trips = bounce(&mut stream, *bytes, 0).unwrap().count() + WARM;
            drop(stream);
            assert_eq!(echoed.join().unwrap(), trips * bytes, "{name}");
        }
    }
}
