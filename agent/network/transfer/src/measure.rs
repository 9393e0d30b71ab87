//! `tare-agent measure`: sends and receives data by the orders of standard input, and tells what
//! the network did with it, interval by interval.
//!
//! The other end is `tare-agent peer`. Time is CLOCK_MONOTONIC throughout: the phases go on by it
//! whether the other end is there or not.

mod line;
mod link;
mod report;

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::process::ExitCode;

use record::network::{Connect, Ended, MeasureOrder, MeasureRecord, Sending};
use stream::{Jobs, STDIN};
use sys::clock;
use sys::watch::{self, Signals};

use crate::measure::line::Line;
use crate::measure::report::Report;
use crate::protocol::frames::Told;
use crate::protocol::frames::INTERVAL_LEAST_NS;
use crate::traffic::phase::Phase;
use crate::wire::MESSAGE_LIMIT;

/// How long the other end's last half is waited for.
const FAREWELL_NS: i64 = 200_000_000;
/// The next order comes within it, of who gives one.
const ORDER_NS: i64 = 1_000_000_000;
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
    let code = ExitCode::from(u8::from(why.is_some()));
    measuring.finish(why);
    code
}

struct Measuring {
    signals: Signals,
    orders: Jobs,
    line: Option<Line>,
    /// Phases to come, and when they were asked for.
    waiting: VecDeque<(Sending, i64)>,
    /// The next phase begins no earlier; None: there was no connection yet.
    free_ns: Option<i64>,
    phase: Option<Phase>,
    report: Report,
}

impl Measuring {
    fn new(signals: Signals) -> Self {
        Self {
            signals,
            orders: Jobs::default(),
            line: None,
            waiting: VecDeque::new(),
            free_ns: None,
            phase: None,
            report: Report::new(clock::monotonic()),
        }
    }

    /// Err: why it is over before its input ended.
    fn measure(&mut self) -> Result<(), Ended> {
        loop {
            let now = clock::monotonic();
            if let Some(line) = &mut self.line {
                line.look_after(self.phase.as_ref(), &mut self.report, now)?;
            }
            self.advance(now);
            self.report.settle(now);
            self.report.flush().map_err(|error| error.to_string())?;
            let line = self.line.as_ref().map_or(-1, Line::as_raw_fd);
            let files = [STDIN, self.signals.as_raw_fd(), line];
            let polled = watch::poll(files, self.next_ns(now));
            let [order, signal, _] = polled.map_err(|error| error.to_string())?;
            if order {
                self.orders.feed();
                while let Some(order) = self.orders.take_next::<MeasureOrder>() {
                    self.follow(order?)?;
                }
            }
            if self.orders.ended || (signal && self.signals.take().is_some()) {
                return Ok(());
            }
        }
    }

    fn next_ns(&mut self, now: i64) -> Option<i64> {
        let line = self.line.as_mut()?;
        let phase = self.phase.as_ref().map(|phase| match line.link() {
            Some(link) => link.sampler.next_ns(now).unwrap_or(now),
            None => phase.end_ns(),
        });
        let times = [line.next_ns(), phase, self.report.next_ns()];
        times.into_iter().flatten().min()
    }

    fn follow(&mut self, order: MeasureOrder) -> Result<(), Ended> {
        let now = clock::monotonic();
        match order {
            MeasureOrder::Connect(connect) => {
                if self.line.is_some() {
                    return Err("it is connected already".to_string().into());
                }
                check(&connect)?;
                self.report = Report::new(now);
                self.line = Some(Line::new(connect, now));
            }
            MeasureOrder::Sending(sending) => {
                if !(1..=MESSAGE_LIMIT).contains(&sending.write_bytes) {
                    let asked = sending.write_bytes;
                    return Err(
                        format!("a write has 1 to {MESSAGE_LIMIT} bytes, not {asked}").into(),
                    );
                }
                self.waiting.push_back((sending, now));
            }
            MeasureOrder::Skip { id } => self.skip(id, now),
        }
        Ok(())
    }

    /// Ends all phases before one.
    fn skip(&mut self, id: u64, now: i64) {
        let is_before = |phase: &Phase| phase.sending.id < id;
        if self.phase.as_ref().is_some_and(is_before) {
            self.end_phase(now, true);
        }
        while self.waiting.front().is_some_and(|(next, _)| next.id < id) {
            let id = self.waiting.pop_front().expect("there is one").0.id;
            self.report
                .record(MeasureRecord::PhaseOver { id, skipped: true });
        }
    }

    /// Ends phases and begins others.
    fn advance(&mut self, now: i64) {
        if !self.line.as_ref().is_some_and(Line::was_up) {
            return;
        }
        loop {
            if let Some(phase) = &self.phase {
                let follows = self.waiting.front().map(|(next, _)| next);
                let is_joined = follows.is_some_and(|next| phase.is_joined_by(next));
                let is_over = now >= phase.end_ns();
                if !(is_over && is_joined) {
                    let mut waits = !is_over;
                    if let Some(link) = self.line.as_mut().and_then(Line::link) {
                        if is_over {
                            link.rest();
                        }
                        if let Some(half) = link.sampler.step(now) {
                            self.report.ours(half, phase.began_ns, now);
                        }
                        waits = link.sampler.is_under_way();
                    }
                    if waits {
                        return;
                    }
                }
                self.end_phase(now, false);
            }
            let free_ns = *self.free_ns.get_or_insert(now);
            let Some((sending, asked_ns)) = self.waiting.pop_front() else {
                return;
            };
            let began_ns = begin_ns(&sending, asked_ns, free_ns);
            self.begin_phase(sending, began_ns, now);
        }
    }

    fn begin_phase(&mut self, sending: Sending, began_ns: i64, now: i64) {
        let Some(line) = &mut self.line else { return };
        let (interval_ns, sample_ns) = (line.asked().interval_ns, line.asked().sample_ns);
        let phase = Phase::new(sending, began_ns, interval_ns, sample_ns);
        if let Some(link) = line.link() {
            // What fails is found out when the other end is heard next.
            let _ = link.begin(&phase, now);
        }
        self.phase = Some(phase);
    }

    fn end_phase(&mut self, now: i64, skipped: bool) {
        let Some(phase) = self.phase.take() else {
            return;
        };
        let follows = self.waiting.front().map(|(next, _)| next);
        let is_joined = follows.is_some_and(|next| phase.is_joined_by(next));
        self.free_ns = Some(if is_joined && !skipped {
            phase.end_ns()
        } else {
            now
        });
        let link = self.line.as_mut().and_then(Line::link);
        if let Some(half) = link.and_then(|link| link.end(skipped)) {
            self.report.ours(half, phase.began_ns, now);
        }
        // Whoever asked for it may leave when it is over.
        if let Some(line) = &mut self.line {
            line.tell_lost(&mut self.report, now);
        }
        let id = phase.sending.id;
        self.report.record(MeasureRecord::PhaseOver { id, skipped });
    }

    /// Tells what is left to be told.
    fn finish(&mut self, why: Option<Ended>) {
        let now = clock::monotonic();
        self.end_phase(now, true);
        if let Some(line) = &mut self.line {
            hear_out(line, &mut self.report, now + FAREWELL_NS);
            line.tell_lost(&mut self.report, now);
        }
        self.report.record(MeasureRecord::MeasureOver { why });
        self.report.give_up();
        // Whoever does not listen any more has ended us.
        let _ = self.report.flush();
    }
}

/// When a phase begins that was asked for at a moment, where none is under way since another. Who
/// asks for a rest takes a moment to do so, in which nothing is sent either: it is part of the rest.
fn begin_ns(sending: &Sending, asked_ns: i64, free_ns: i64) -> i64 {
    if sending.on_ns == 0 && asked_ns < free_ns + ORDER_NS {
        free_ns
    } else {
        asked_ns.max(free_ns)
    }
}

/// Hears the other end until everything is told that waits for it.
fn hear_out(line: &mut Line, report: &mut Report, until_ns: i64) {
    let Some(link) = line.link() else { return };
    loop {
        let now = clock::monotonic();
        report.settle(now);
        if now >= until_ns || report.next_ns().is_none() {
            return;
        }
        match link.frames.hear() {
            Ok(Some(Told::Half(half))) => report.theirs(*half),
            Ok(Some(_)) => {}
            Ok(None) => drop(watch::poll([link.frames.as_raw_fd()], Some(until_ns))),
            Err(_) => return,
        }
    }
}

fn check(connect: &Connect) -> Result<(), String> {
    let streams = connect.streams;
    if streams == 0 || streams > STREAMS_MOST {
        return Err(format!("streams: 1 to {STREAMS_MOST}, not {streams}"));
    }
    if connect.interval_ns < INTERVAL_LEAST_NS || connect.sample_ns < INTERVAL_LEAST_NS {
        return Err("intervals and samples are no shorter than a millisecond".to_string());
    }
    Ok(())
}
