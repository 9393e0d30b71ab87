//! A few bytes there and back beside the data: how long an application waits for an answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock;
use crate::measure::gate::Gate;
use crate::measure::histogram::Counter;

pub const MESSAGE: usize = 64;

/// Until the gate is over; open: so many a second, one more than asked for where it is the largest
/// number there is.
pub fn ping(
    mut stream: &TcpStream,
    gate: &Gate,
    rate: Option<u32>,
    times: &Arc<Mutex<Counter>>,
) -> io::Result<()> {
    let message = [0x5a; MESSAGE];
    let mut back = [0; MESSAGE];
    let period_ns = rate.map(|rate| 1_000_000_000 / i64::from(rate.max(1)));
    let mut next = clock::monotonic();
    while let Some(word) = gate.wait() {
        while gate.is_open_for(word) {
            let start = clock::monotonic();
            stream.write_all(&message)?;
            stream.read_exact(&mut back)?;
            let time = clock::monotonic() - start;
            let mut counter = times.lock().unwrap_or_else(PoisonError::into_inner);
            counter.count(time as u64);
            drop(counter);
            if let Some(period_ns) = period_ns {
                next = (next + period_ns).max(clock::monotonic());
                let wait = next - clock::monotonic();
                std::thread::sleep(std::time::Duration::from_nanos(wait.max(0) as u64));
            }
        }
    }
    Ok(())
}

/// Sends every message back.
pub fn echo(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(None)?;
    let mut message = [0; MESSAGE];
    loop {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
}
