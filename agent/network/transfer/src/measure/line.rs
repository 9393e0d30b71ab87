//! How it stands with the other end: connected, or to be connected again, for as long as it takes.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use record::network::{Connect, Connected, Ended, MeasureRecord};
use sys::clock;

use crate::measure::link::{self, Link};
use crate::measure::report::Report;
use crate::protocol::frames::{Asked, Told};
use crate::protocol::session::Failure;
use crate::traffic::phase::Phase;

const BACK_OFF_LEAST_NS: i64 = 100_000_000;
const BACK_OFF_MOST_NS: i64 = 5_000_000_000;

pub struct Line {
    connect: Connect,
    state: State,
}

enum State {
    Up(Box<Link>),
    /// To be tried again then.
    Down(Outage, i64),
    Dialling(Outage, Dial),
}

#[derive(Clone)]
struct Outage {
    since_ns: i64,
    why: String,
    back_off_ns: i64,
    /// There was no connection before.
    is_first: bool,
}

/// A try to connect, in a thread of its own.
struct Dial {
    thread: JoinHandle<Result<Link, Failure>>,
    /// Closed by the thread at its end.
    done: UnixStream,
}

impl Dial {
    fn start(connect: Connect) -> io::Result<Self> {
        let (done, open) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().spawn(move || {
            let _open = open;
            link::connect(&connect)
        })?;
        Ok(Self { thread, done })
    }
}

impl Line {
    /// Connects from now on.
    pub fn new(connect: Connect, now: i64) -> Self {
        let outage = Outage {
            since_ns: now,
            why: String::new(),
            back_off_ns: BACK_OFF_LEAST_NS,
            is_first: true,
        };
        Self {
            connect,
            state: State::Down(outage, now),
        }
    }

    pub fn asked(&self) -> &Connect {
        &self.connect
    }

    pub fn link(&mut self) -> Option<&mut Link> {
        match &mut self.state {
            State::Up(link) => Some(link),
            State::Down(..) | State::Dialling(..) => None,
        }
    }

    pub fn was_up(&self) -> bool {
        match &self.state {
            State::Up(_) => true,
            State::Down(outage, _) | State::Dialling(outage, _) => !outage.is_first,
        }
    }

    /// When to look after it again, at the latest.
    pub fn next_ns(&self) -> Option<i64> {
        match &self.state {
            State::Up(link) => Some(link.frames.next_ns()),
            State::Down(_, again_ns) => Some(*again_ns),
            State::Dialling(..) => None,
        }
    }

    /// Hears the other end; connects where it is not there. Err: there is no hope.
    pub fn look_after(
        &mut self,
        phase: Option<&Phase>,
        report: &mut Report,
        now: i64,
    ) -> Result<(), Ended> {
        match &mut self.state {
            State::Up(link) => match hear(link, self.connect.streams, report, now) {
                Ok(None) => {}
                Ok(Some(why)) => return Err(why),
                Err(error) => self.lose(&error, phase, report, now),
            },
            State::Down(outage, again_ns) if now >= *again_ns => {
                let dial = Dial::start(self.connect.clone())
                    .map_err(|error| Ended::from(error.to_string()))?;
                self.state = State::Dialling(outage.clone(), dial);
            }
            State::Dialling(outage, dial) if dial.thread.is_finished() => {
                let outage = outage.clone();
                let again = State::Down(outage.clone(), now);
                let State::Dialling(_, dial) = std::mem::replace(&mut self.state, again) else {
                    return Ok(());
                };
                let broken = |_| Err(Failure::passing("it failed by itself".to_string()));
                match dial.thread.join().unwrap_or_else(broken) {
                    Ok(link) => self.take_up(link, &outage, phase, report, now),
                    Err(failure) => self.bear(outage, failure, now)?,
                }
            }
            State::Down(..) | State::Dialling(..) => {}
        }
        Ok(())
    }

    fn lose(&mut self, error: &io::Error, phase: Option<&Phase>, report: &mut Report, now: i64) {
        let half = self.link().and_then(|link| link.sampler.end());
        if let (Some(half), Some(phase)) = (half, phase) {
            report.ours(half, phase.began_ns, now);
        }
        report.give_up();
        let outage = Outage {
            since_ns: now,
            why: error.to_string(),
            back_off_ns: BACK_OFF_LEAST_NS,
            is_first: false,
        };
        self.state = State::Down(outage, now);
    }

    fn take_up(
        &mut self,
        link: Link,
        outage: &Outage,
        phase: Option<&Phase>,
        report: &mut Report,
        now: i64,
    ) {
        if !outage.is_first {
            tell_gap(outage, report, now);
        }
        report.record(MeasureRecord::Connected(Connected {
            at_ns: report.since(now),
            realtime_ns: clock::realtime() as u64,
            here: link.here.clone(),
            there: link.there.clone(),
        }));
        self.state = State::Up(Box::new(link));
        let begun = self
            .link()
            .zip(phase)
            .map(|(link, phase)| link.begin(phase, now));
        if let Some(Err(error)) = begun {
            self.lose(&error, phase, report, now);
        }
    }

    /// Tries again, unless it was the first time and there is no hope.
    fn bear(&mut self, mut outage: Outage, failure: Failure, now: i64) -> Result<(), Ended> {
        if outage.is_first {
            let waited_ns = u64::try_from(now - outage.since_ns).unwrap_or(0);
            if failure.is_lasting || waited_ns >= self.connect.patience_ns {
                return Err(failure.why);
            }
        }
        let again_ns = now + outage.back_off_ns;
        outage.back_off_ns = (outage.back_off_ns * 2).min(BACK_OFF_MOST_NS);
        self.state = State::Down(outage, again_ns);
        Ok(())
    }

    /// Tells for how long the other end has been lost, where a phase or the measurement ends.
    pub fn tell_lost(&mut self, report: &mut Report, now: i64) {
        if let State::Down(outage, _) | State::Dialling(outage, _) = &mut self.state {
            if !outage.is_first && now > outage.since_ns {
                tell_gap(outage, report, now);
                outage.since_ns = now;
            }
        }
    }
}

impl AsRawFd for Line {
    /// What is ready when there is something to look after; negative: nothing.
    fn as_raw_fd(&self) -> RawFd {
        match &self.state {
            State::Up(link) => link.frames.as_raw_fd(),
            State::Dialling(_, dial) => dial.done.as_raw_fd(),
            State::Down(..) => -1,
        }
    }
}

/// Some: why the other end will not go on.
fn hear(link: &mut Link, streams: u32, report: &mut Report, now: i64) -> io::Result<Option<Ended>> {
    while let Some(told) = link.frames.hear()? {
        match told {
            Told::Half(mut half) => {
                // One that ends now may have begun in any interval of the phase.
                half.waited = half.waited.within(half.end_ns, streams);
                report.theirs(*half);
            }
            Told::Over { why } => return Ok(Some(why)),
            Told::Ready { .. } | Told::Alive => {}
        }
    }
    link.frames.look_after(&Asked::Alive, now)?;
    if link.is_broken() {
        return Err(io::Error::other("a stream was lost"));
    }
    Ok(None)
}

fn tell_gap(outage: &Outage, report: &mut Report, now: i64) {
    report.record(MeasureRecord::Gap {
        start_ns: report.since(outage.since_ns),
        end_ns: report.since(now),
        why: outage.why.clone(),
    });
}
