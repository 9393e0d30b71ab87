//! A few bytes there and back beside the data: how long an application waits for an answer.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use sys::clock;
use sys::watch;

use crate::traffic::gate::Gate;
use crate::traffic::histogram::Counter;
use crate::traffic::waits::{Own, Roles};

const MESSAGE: usize = 64;
/// So many are on their way at most.
const OUT_MOST: usize = 1000;

/// Sends messages while the gate is open, until it is over: so many a second, or one after another.
pub fn ping(
    stream: &TcpStream,
    gate: &Gate,
    rate: Option<u32>,
    times: &Mutex<Counter>,
    roles: &Roles,
) -> io::Result<()> {
    // Room for them is there before the first.
    let mut paced = rate.map(|rate| Paced::new(stream, rate));
    while let Some(word) = gate.wait() {
        match &mut paced {
            Some(paced) => paced.ping(|| gate.is_open_for(word), times, roles)?,
            None => bounce(stream, || gate.is_open_for(word), times)?,
        }
    }
    Ok(())
}

fn bounce(
    mut stream: &TcpStream,
    goes_on: impl Fn() -> bool,
    times: &Mutex<Counter>,
) -> io::Result<()> {
    let mut message = [0x5a; MESSAGE];
    while goes_on() {
        let start = clock::monotonic();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        count(times, clock::monotonic() - start);
    }
    Ok(())
}

/// Messages at even times, whether those before have come back or not: were it to wait for them,
/// the network's bad moments would be seen as few as its good ones are many.
struct Paced<'a> {
    stream: &'a TcpStream,
    period_ns: i64,
    next_ns: i64,
    /// When those that are out were sent, and how much of the first has come back.
    out: VecDeque<i64>,
    back: usize,
}

impl<'a> Paced<'a> {
    fn new(stream: &'a TcpStream, rate: u32) -> Self {
        Self {
            stream,
            period_ns: 1_000_000_000 / i64::from(rate.max(1)),
            next_ns: 0,
            out: VecDeque::with_capacity(OUT_MOST),
            back: 0,
        }
    }

    fn ping(
        &mut self,
        goes_on: impl Fn() -> bool,
        times: &Mutex<Counter>,
        roles: &Roles,
    ) -> io::Result<()> {
        let own = Own::open();
        self.next_ns = clock::monotonic();
        while goes_on() {
            let now = clock::monotonic();
            if now >= self.next_ns {
                self.send(now)?;
            }
            // To send late makes no message late.
            let before = self.out.is_empty().then(|| own.waited_ns()).flatten();
            let [ready] = watch::poll([self.stream.as_raw_fd()], Some(self.next_ns))?;
            if let (Some(before), Some(after)) = (before, own.waited_ns()) {
                roles.leave_out(after - before);
            }
            if ready {
                self.take(times)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, now: i64) -> io::Result<()> {
        let late = (now - self.next_ns) / self.period_ns;
        self.next_ns += (late + 1) * self.period_ns;
        if self.out.len() < OUT_MOST {
            let mut stream = self.stream;
            stream.write_all(&[0x5a; MESSAGE])?;
            self.out.push_back(now);
        }
        Ok(())
    }

    fn take(&mut self, times: &Mutex<Counter>) -> io::Result<()> {
        let mut room = [0; 16 * MESSAGE];
        let mut stream = self.stream;
        match stream.read(&mut room)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => self.back += got,
        }
        let now = clock::monotonic();
        while self.back >= MESSAGE {
            self.back -= MESSAGE;
            if let Some(sent) = self.out.pop_front() {
                count(times, now - sent);
            }
        }
        Ok(())
    }
}

fn count(times: &Mutex<Counter>, time_ns: i64) {
    let mut counter = times.lock().unwrap_or_else(PoisonError::into_inner);
    counter.count(u64::try_from(time_ns).unwrap_or(0));
}

/// Sends every message back. `echoed`: bytes there and back.
pub fn echo(mut stream: &TcpStream, echoed: &AtomicU64) -> io::Result<()> {
    stream.set_read_timeout(None)?;
    let mut message = [0; MESSAGE];
    loop {
        stream.read_exact(&mut message)?;
        echoed.fetch_add(2 * MESSAGE as u64, Relaxed);
        stream.write_all(&message)?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use crate::traffic::segments;

    use super::*;

    fn pinged(rate: Option<u32>, enough: usize) -> Vec<(u32, u64)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let theirs = listener.accept().unwrap().0;
        let times = segments::counter();
        let gate = Arc::new(Gate::default());
        gate.open(1);
        let thread = {
            let (times, gate) = (Arc::clone(&times), Arc::clone(&gate));
            std::thread::spawn(move || ping(&ours, &gate, rate, &times, &Roles::default()))
        };
        // The other end, by hand: what is late is late for all that wait behind it.
        let mut got = vec![0; MESSAGE * enough];
        (&theirs).read_exact(&mut got).unwrap();
        (&theirs).write_all(&got).unwrap();
        let mut seen = Vec::new();
        while seen.iter().map(|(_, n)| n).sum::<u64>() < enough as u64 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            seen.extend(times.lock().unwrap().take().bins);
        }
        gate.end();
        drop(theirs);
        let _ = thread.join().unwrap();
        seen
    }

    #[test]
    fn messages_at_even_times_do_not_wait_for_each_other() {
        // The first is answered when the tenth has come: with a wait there never would be one.
        assert!(!pinged(Some(1000), 10).is_empty());
    }

    #[test]
    fn one_after_another_waits() {
        assert_eq!(pinged(None, 1).len(), 1);
    }
}
