//! `tare-agent measure`: sends and receives data by the orders of standard input, and tells what
//! the network did with it, interval by interval.
//!
//! The other end is `tare-agent peer`. Time is CLOCK_MONOTONIC throughout: the phases go on by it
//! whether the other end is there or not.

pub mod facts;
pub mod flow;
pub mod gate;
pub mod half;
pub mod histogram;
mod link;
mod pattern;
pub mod phase;
pub mod pings;
pub mod sampler;
pub mod tcp;
mod telling;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread::JoinHandle;

use crate::clock;
use crate::measure::link::Link;
use crate::measure::phase::Phase;
use crate::measure::telling::Telling;
use crate::peer::frames::{Asked, Told};
use crate::peer::measuring::INTERVAL_LEAST_NS;
use crate::peer::session::Failure;
use crate::peer::wire::MESSAGE_LIMIT;
use crate::record::network::{Connect, Connected, MeasureOrder, MeasureRecord, Sending};
use crate::stream::{Jobs, STDIN};
use crate::watch::{self, Signals};

const BACK_OFF_LEAST_NS: i64 = 100_000_000;
const BACK_OFF_MOST_NS: i64 = 5_000_000_000;
/// How long the other end's last half is waited for.
const FAREWELL_NS: i64 = 200_000_000;
/// Of each direction: a thread each.
const STREAMS_MOST: u32 = 1024;

/// Run `measure`: until its input ends, or a signal ends it.
pub fn run() -> ExitCode {
    let signals = match Signals::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]) {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("tare-agent measure: no signals: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut measuring = Measuring::new(signals);
    let why = measuring.measure().err();
    let code = if why.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    measuring.finish(why);
    code
}

struct Measuring {
    signals: Signals,
    orders: Jobs,
    connect: Option<Connect>,
    began_ns: i64,
    /// Phases to come, and when they were asked for.
    waiting: VecDeque<(Sending, i64)>,
    /// The next phase begins no earlier.
    free_ns: i64,
    phase: Option<Phase>,
    line: Line,
    telling: Telling,
}

/// How it stands with the other end.
enum Line {
    /// Nobody has asked for it yet.
    None,
    Up(Box<Link>),
    /// Lost since, or never had; to be tried again then.
    Down(Outage, i64),
    Dialling(Outage, Dial),
}

#[derive(Clone)]
struct Outage {
    since_ns: i64,
    why: String,
    back_off_ns: i64,
    is_first: bool,
}

/// A try to connect, in a thread of its own, which writes when it is done.
struct Dial {
    thread: JoinHandle<Result<Link, Failure>>,
    done: UnixStream,
}

impl Dial {
    fn start(connect: Connect) -> io::Result<Self> {
        let (done, tell) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().spawn(move || {
            // Closed at the end of the thread, whatever happens.
            let _tell = tell;
            link::connect(&connect)
        })?;
        Ok(Self { thread, done })
    }
}

impl Measuring {
    fn new(signals: Signals) -> Self {
        Self {
            signals,
            orders: Jobs::default(),
            connect: None,
            began_ns: clock::monotonic(),
            waiting: VecDeque::new(),
            free_ns: 0,
            phase: None,
            line: Line::None,
            telling: Telling::default(),
        }
    }

    /// Err: why it is over before its input ended.
    fn measure(&mut self) -> Result<(), String> {
        loop {
            let now = clock::monotonic();
            self.look_after_line(now)?;
            self.advance(now);
            self.telling.settle(now);
            self.telling.flush().map_err(|error| error.to_string())?;
            let files = [STDIN, self.signals.as_raw_fd(), self.line_file()];
            let polled = watch::poll(files, self.next_ns(now));
            let [order, signal, _] = polled.map_err(|error| error.to_string())?;
            if order {
                self.orders.feed();
                while let Some(order) = self.orders.next::<MeasureOrder>() {
                    self.follow(order?)?;
                }
            }
            if self.orders.ended || (signal && self.signals.take().is_some()) {
                return Ok(());
            }
        }
    }

    fn line_file(&self) -> RawFd {
        match &self.line {
            Line::Up(link) => link.frames.as_raw_fd(),
            Line::Dialling(_, dial) => dial.done.as_raw_fd(),
            Line::None | Line::Down(..) => -1,
        }
    }

    fn next_ns(&self, now: i64) -> Option<i64> {
        let line = match &self.line {
            Line::Up(link) => Some(link.frames.next_ns()),
            Line::Down(_, again_ns) => Some(*again_ns),
            Line::None | Line::Dialling(..) => None,
        };
        let phase = self.phase.as_ref().map(|phase| match &self.line {
            Line::Up(_) => phase.next_ns(now),
            _ => phase.end_ns(),
        });
        [line, phase, self.telling.next_ns()]
            .into_iter()
            .flatten()
            .min()
    }

    fn follow(&mut self, order: MeasureOrder) -> Result<(), String> {
        match order {
            MeasureOrder::Connect(connect) => {
                if self.connect.is_some() {
                    return Err("it is connected already".to_string());
                }
                check(&connect)?;
                self.began_ns = clock::monotonic();
                self.connect = Some(connect);
                let outage = Outage {
                    since_ns: self.began_ns,
                    why: String::new(),
                    back_off_ns: BACK_OFF_LEAST_NS,
                    is_first: true,
                };
                self.line = Line::Down(outage, self.began_ns);
            }
            MeasureOrder::Sending(sending) => {
                check_sending(&sending)?;
                self.waiting.push_back((sending, clock::monotonic()));
            }
            MeasureOrder::Skip { id } => {
                let now = clock::monotonic();
                if self
                    .phase
                    .as_ref()
                    .is_some_and(|phase| phase.sending.id < id)
                {
                    self.end_phase(now, true);
                }
                while self.waiting.front().is_some_and(|(next, _)| next.id < id) {
                    let id = self.waiting.pop_front().expect("there is one").0.id;
                    self.telling
                        .record(MeasureRecord::PhaseOver { id, skipped: true });
                }
            }
        }
        Ok(())
    }

    /// Hears the other end; connects where it is not there.
    fn look_after_line(&mut self, now: i64) -> Result<(), String> {
        self.line = match std::mem::replace(&mut self.line, Line::None) {
            Line::Up(mut link) => match self.hear(&mut link, now) {
                Ok(None) => Line::Up(link),
                Ok(Some(why)) => return Err(why),
                Err(error) => self.lose(*link, &error, now),
            },
            Line::Down(outage, again_ns) if now >= again_ns => {
                let connect = self.connect.clone().expect("asked for before");
                let dial = Dial::start(connect).map_err(|error| error.to_string())?;
                Line::Dialling(outage, dial)
            }
            Line::Dialling(outage, dial) if dial.thread.is_finished() => {
                let broken = |_| Err(Failure::passing("it failed by itself".to_string()));
                match dial.thread.join().unwrap_or_else(broken) {
                    Ok(link) => self.take_up(link, &outage, now),
                    Err(failure) => self.bear(outage, failure, now)?,
                }
            }
            other => other,
        };
        Ok(())
    }

    /// Some: why the other end will not go on.
    fn hear(&mut self, link: &mut Link, now: i64) -> io::Result<Option<String>> {
        while let Some(told) = link.frames.hear()? {
            match told {
                Told::Half(half) => self.telling.theirs(*half),
                Told::Over { why } => return Ok(Some(why)),
                Told::Ready { .. } | Told::Alive => {}
            }
        }
        link.frames.look_after(&Asked::Alive, now)?;
        match link.is_broken() {
            true => Err(io::Error::other("a stream was lost")),
            false => Ok(None),
        }
    }

    fn lose(&mut self, mut link: Link, error: &io::Error, now: i64) -> Line {
        if let Some(phase) = &self.phase {
            let began_ns = self.since_start(phase.began_ns);
            if let Some(half) = link.sampler.end(now) {
                self.telling.ours(half, began_ns, now);
            }
        }
        self.telling.give_up();
        let outage = Outage {
            since_ns: now,
            why: error.to_string(),
            back_off_ns: BACK_OFF_LEAST_NS,
            is_first: false,
        };
        Line::Down(outage, now)
    }

    fn take_up(&mut self, mut link: Link, outage: &Outage, now: i64) -> Line {
        if outage.is_first {
            self.free_ns = now;
        } else {
            self.tell_gap(outage, now);
        }
        self.telling.record(MeasureRecord::Connected(Connected {
            at_ns: self.since_start(now),
            realtime_ns: clock::realtime() as u64,
            here: link.here.clone(),
            there: link.there.clone(),
        }));
        match self
            .phase
            .as_ref()
            .map_or(Ok(()), |phase| link.begin(phase, now))
        {
            Ok(()) => Line::Up(Box::new(link)),
            Err(error) => self.lose(link, &error, now),
        }
    }

    /// Tries again, unless it was the first time and there is no hope.
    fn bear(&self, mut outage: Outage, failure: Failure, now: i64) -> Result<Line, String> {
        let patience_ns = self
            .connect
            .as_ref()
            .map_or(0, |connect| connect.patience_ns);
        if outage.is_first && (failure.is_lasting || self.since_start(now) >= patience_ns) {
            return Err(failure.why);
        }
        let again_ns = now + outage.back_off_ns;
        outage.back_off_ns = (outage.back_off_ns * 2).min(BACK_OFF_MOST_NS);
        Ok(Line::Down(outage, again_ns))
    }

    fn tell_gap(&mut self, outage: &Outage, now: i64) {
        self.telling.record(MeasureRecord::Gap {
            start_ns: self.since_start(outage.since_ns),
            end_ns: self.since_start(now),
            why: outage.why.clone(),
        });
    }

    /// Ends phases and begins others.
    fn advance(&mut self, now: i64) {
        let never_up = match &self.line {
            Line::Down(outage, _) | Line::Dialling(outage, _) => outage.is_first,
            Line::None => true,
            Line::Up(_) => false,
        };
        if never_up {
            return;
        }
        loop {
            if let Some(phase) = &self.phase {
                if now >= phase.end_ns() {
                    self.end_phase(now, false);
                } else {
                    let began_ns = self.since_start(phase.began_ns);
                    if let Line::Up(link) = &mut self.line {
                        if let Some(half) = link.sampler.step(now) {
                            self.telling.ours(half, began_ns, now);
                        }
                    }
                    return;
                }
            }
            let Some((sending, asked_ns)) = self.waiting.pop_front() else {
                return;
            };
            self.begin_phase(sending, asked_ns.max(self.free_ns), now);
        }
    }

    fn begin_phase(&mut self, sending: Sending, began_ns: i64, now: i64) {
        let Some(connect) = &self.connect else { return };
        let (interval_ns, sample_ns) = (connect.interval_ns, connect.sample_ns);
        let phase = Phase::new(sending, began_ns, interval_ns, sample_ns);
        if let Line::Up(link) = &mut self.line {
            // What fails is found out when the other end is heard next.
            let _ = link.begin(&phase, now);
        }
        self.phase = Some(phase);
    }

    fn end_phase(&mut self, now: i64, skipped: bool) {
        let Some(phase) = self.phase.take() else {
            return;
        };
        self.free_ns = if skipped { now } else { phase.end_ns() };
        let began_ns = self.since_start(phase.began_ns);
        if let Line::Up(link) = &mut self.line {
            if let Some(half) = link.end(now, skipped) {
                self.telling.ours(half, began_ns, now);
            }
        }
        let id = phase.sending.id;
        self.telling
            .record(MeasureRecord::PhaseOver { id, skipped });
    }

    fn since_start(&self, at_ns: i64) -> u64 {
        u64::try_from(at_ns - self.began_ns).unwrap_or(0)
    }

    /// Tells what is left to be told.
    fn finish(&mut self, why: Option<String>) {
        let now = clock::monotonic();
        self.end_phase(now, true);
        let until_ns = now + FAREWELL_NS;
        while clock::monotonic() < until_ns && self.telling.next_ns().is_some() {
            let now = clock::monotonic();
            let Line::Up(link) = &mut self.line else {
                break;
            };
            let file = link.frames.as_raw_fd();
            match link.frames.hear() {
                Ok(Some(Told::Half(half))) => self.telling.theirs(*half),
                Ok(Some(_)) => {}
                Ok(None) => drop(watch::poll([file], Some(until_ns))),
                Err(_) => break,
            }
            self.telling.settle(now);
        }
        if let Line::Down(outage, _) | Line::Dialling(outage, _) = &self.line {
            if !outage.is_first {
                self.tell_gap(&outage.clone(), now);
            }
        }
        self.telling.record(MeasureRecord::MeasureOver { why });
        self.telling.give_up();
        let _ = self.telling.flush();
    }
}

fn check(connect: &Connect) -> Result<(), String> {
    if connect.streams == 0 || connect.streams > STREAMS_MOST {
        return Err(format!(
            "streams: 1 to {STREAMS_MOST}, not {}",
            connect.streams
        ));
    }
    if connect.interval_ns < INTERVAL_LEAST_NS || connect.sample_ns < INTERVAL_LEAST_NS {
        return Err("intervals and samples are no shorter than a millisecond".to_string());
    }
    Ok(())
}

fn check_sending(sending: &Sending) -> Result<(), String> {
    if !(1..=MESSAGE_LIMIT).contains(&sending.write_bytes) {
        let asked = sending.write_bytes;
        return Err(format!(
            "a write has 1 to {MESSAGE_LIMIT} bytes, not {asked}"
        ));
    }
    Ok(())
}
