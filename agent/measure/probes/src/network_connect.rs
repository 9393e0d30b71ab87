//! What it costs to begin and to end a TCP connection.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use record::Effort;
use sys::clock;
use transfer::protocol::session::Session;
use transfer::wire::Task;

use crate::loopback;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::quantiles::Times;

pub const PROBE: Probe = Probe {
    name: "network.connect",
    title: "beginning and ending a TCP connection",
    question: "What does a connection cost that carries nothing?",
    source: Some("SYSMEASURE, connection overhead; lmbench lat_connect"),
    metrics: &[
        time(
            "network.connect.whole",
            "socket, connect and close on the loopback, one after the other, to a listener of the \
             round's own with a long queue; median of at most 1000. With a short queue (lmbench: \
             100) a client that is not interrupted fills it, and the next connection waits a \
             second to be begun anew: on average milliseconds",
        ),
        time(
            "network.connect.setup",
            "socket and connect of these; median",
        ),
        time("network.connect.teardown", "close of these; median"),
        time("network.connect.least", "shortest of these, whole"),
        time(
            "network.connect.reset",
            "the same ended by a reset (SO_LINGER 0), which leaves nothing in TIME_WAIT; median",
        ),
        time(
            "network.connect.remote.whole",
            "socket, connect and close to the peer; median",
        ),
        time(
            "network.connect.remote.setup",
            "socket and connect of these; median: a round trip and what both ends do",
        ),
        time("network.connect.remote.teardown", "close of these; median"),
        time("network.connect.remote.least", "shortest of these, whole"),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.06),
        whole: Some(0.2),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// A machine has some 28 000 ports to connect from, and a minute's use of each in TIME_WAIT.
const MOST_QUICK: usize = 400;
const MOST: usize = 1000;
const WARM: usize = 16;

const fn time(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }
}

/// What each connection took.
struct Connections {
    setup: Times,
    teardown: Times,
    whole: Times,
}

fn perform(round: &Round) -> Result<(), String> {
    let most = match round.job.effort {
        Effort::Whole => MOST,
        Effort::Quick | Effort::Brief => MOST_QUICK,
    };
    let parts = if round.job.peer.is_some() { 3 } else { 2 };
    let budget_ns = round.budget_ns() / parts;
    if let Err(why) = here(round, budget_ns, most) {
        round.unavailable("connections on the loopback", why);
    }
    if round.job.peer.is_some() {
        if let Err(why) = there(round, budget_ns, most) {
            round.unavailable("connections to the peer", why);
        }
    }
    Ok(())
}

fn here(round: &Round, budget_ns: i64, most: usize) -> Result<(), String> {
    let (address, _partner) = loopback::closer().map_err(told)?;
    let done = connections(address, false, budget_ns, most)?;
    read(round, "network.connect", done);
    let reset = connections(address, true, budget_ns, most)?;
    let median = reset.whole.sort().quantile(0.5);
    round.read("network.connect.reset", median);
    Ok(())
}

fn there(round: &Round, budget_ns: i64, most: usize) -> Result<(), String> {
    let peer = round.job.peer.as_ref().ok_or("there is no peer")?;
    let mut session = Session::open(peer)?;
    let port = session.order(Task::Connects, 0, (most + WARM) as u64)?;
    let there = session.stream.peer_addr().map_err(told)?.ip();
    let done = connections((there, port).into(), false, budget_ns, most);
    session.order(Task::Connects, 0, 0)?;
    read(round, "network.connect.remote", done?);
    Ok(())
}

impl Connections {
    /// Adds the stamps before, between and after one.
    fn add(&mut self, [start, connected, closed]: [i64; 3]) {
        self.setup.add(connected - start);
        self.teardown.add(closed - connected);
        self.whole.add(closed - start);
    }
}

fn connections(
    address: SocketAddr,
    reset: bool,
    budget_ns: i64,
    most: usize,
) -> Result<Connections, String> {
    let mut done = Connections {
        setup: Times::with_room(most),
        teardown: Times::with_room(most),
        whole: Times::with_room(most),
    };
    let cannot = |error: io::Error| match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => "all ports to connect from are in TIME_WAIT: \
                                      in a minute they are free again (ss -s)"
            .to_string(),
        _ => told(error),
    };
    for _ in 0..WARM {
        connect(address, reset).map_err(cannot)?;
    }
    let end = clock::monotonic() + budget_ns;
    while done.whole.count() < most {
        let stamps = connect(address, reset).map_err(cannot)?;
        done.add(stamps);
        if stamps[2] >= end {
            break;
        }
    }
    Ok(done)
}

/// Stamps before, between and after.
fn connect(address: SocketAddr, reset: bool) -> io::Result<[i64; 3]> {
    let start = clock::monotonic();
    let stream = TcpStream::connect(address)?;
    let mut connected = clock::monotonic();
    if reset {
        let before = connected;
        linger_not(&stream)?;
        connected = clock::monotonic();
        // The switch itself is no part of it.
        let start = start + (connected - before);
        drop(stream);
        return Ok([start, connected, clock::monotonic()]);
    }
    drop(stream);
    Ok([start, connected, clock::monotonic()])
}

fn linger_not(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: as many bytes as are said.
    let set = unsafe {
        let size = std::mem::size_of_val(&linger) as libc::socklen_t;
        let value = (&raw const linger).cast();
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            value,
            size,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn read(round: &Round, metric: &str, done: Connections) {
    let whole = done.whole.sort();
    round.read(&format!("{metric}.whole"), whole.quantile(0.5));
    round.read(&format!("{metric}.least"), whole.quantile(0.0));
    let setup = done.setup.sort().quantile(0.5);
    round.read(&format!("{metric}.setup"), setup);
    let teardown = done.teardown.sort().quantile(0.5);
    round.read(&format!("{metric}.teardown"), teardown);
}

fn told(error: io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_its_setup_and_its_teardown() {
        let times = || Times::with_room(1);
        let mut done = Connections {
            setup: times(),
            teardown: times(),
            whole: times(),
        };
        done.add([5, 15, 18]);
        let only = |times: Times| times.sort().quantile(0.5);
        assert_eq!(
            [done.setup, done.teardown, done.whole].map(only),
            [10.0, 3.0, 13.0]
        );
    }
}
