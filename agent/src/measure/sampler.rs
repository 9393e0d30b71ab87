//! Looks at the streams of one end while a phase lasts, and makes its half of every interval.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock;
use crate::measure::gate::Gate;
use crate::measure::half::{Half, Sent, LAST};
use crate::measure::histogram::Counter;
use crate::measure::phase::Phase;
use crate::measure::tcp::{self, Info};
use crate::measure::waits::{Roles, Waited};

pub struct Sampler {
    pub gate: Arc<Gate>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Arc<AtomicU64>>,
    round_trips: Option<Arc<Mutex<Counter>>>,
    rtts: Counter,
    sent: Sent,
    received: u64,
    cpu_ns: i64,
    roles: Arc<Roles>,
    waited: Waited,
    phase: Option<Phase>,
    /// Where the interval under way began.
    start_ns: i64,
    boundary: u64,
}

/// A stream on which this end sends, and what was known of it at the last look.
struct Outgoing {
    stream: TcpStream,
    acked: u64,
    segments: u32,
    retransmits: u32,
    busy_us: u64,
    receiver_limited_us: u64,
    buffer_limited_us: u64,
}

impl Sampler {
    pub fn new(
        gate: Arc<Gate>,
        outgoing: Vec<TcpStream>,
        incoming: Vec<Arc<AtomicU64>>,
        round_trips: Option<Arc<Mutex<Counter>>>,
        roles: Arc<Roles>,
    ) -> Self {
        let mut sampler = Self {
            gate,
            outgoing: outgoing.into_iter().map(Outgoing::new).collect(),
            incoming,
            round_trips,
            rtts: Counter::new(),
            sent: Sent::default(),
            received: 0,
            cpu_ns: clock::process_cpu(),
            waited: roles.waited(),
            roles,
            phase: None,
            start_ns: clock::monotonic(),
            boundary: 0,
        };
        sampler.look();
        sampler
    }

    /// Begins a phase, or goes on with it.
    pub fn begin(&mut self, phase: Phase, now_ns: i64) {
        self.start_ns = now_ns.max(phase.began_ns);
        self.boundary = phase.boundary(now_ns);
        // What happened between phases is nobody's, save bytes: those are on their way still.
        self.cpu_ns = clock::process_cpu();
        self.waited = self.roles.waited();
        if let Some(round_trips) = &self.round_trips {
            lock(round_trips).take();
        }
        self.phase = Some(phase);
        self.turn(now_ns);
    }

    /// When to call `step` next.
    pub fn next_ns(&self, now_ns: i64) -> Option<i64> {
        Some(self.phase.as_ref()?.next_ns(now_ns))
    }

    /// Does what is due, and returns the half of an interval that is over.
    pub fn step(&mut self, now_ns: i64) -> Option<Half> {
        let boundary = self.phase.as_ref()?.boundary(now_ns);
        self.turn(now_ns);
        if boundary == LAST {
            return self.end(now_ns);
        }
        self.look();
        (boundary > self.boundary).then(|| self.close(now_ns, boundary))
    }

    /// Ends the phase, and returns the half of its last interval.
    pub fn end(&mut self, now_ns: i64) -> Option<Half> {
        self.phase.as_ref()?;
        self.gate.close();
        self.look();
        let half = self.close(now_ns, LAST);
        self.phase = None;
        Some(half)
    }

    /// Bytes that have gone either way.
    pub fn total(&self) -> u64 {
        let acked: u64 = self.outgoing.iter().map(|sent| sent.acked).sum();
        acked + self.received()
    }

    fn received(&self) -> u64 {
        self.incoming
            .iter()
            .map(|stream| stream.load(Relaxed))
            .sum()
    }

    fn turn(&self, now_ns: i64) {
        match &self.phase {
            Some(phase) if phase.pattern.is_on(phase.since(now_ns)) => {
                self.gate.open(phase.sending.write_bytes);
            }
            _ => self.gate.close(),
        }
    }

    fn look(&mut self) {
        for outgoing in &mut self.outgoing {
            if let Ok(info) = Info::read(&outgoing.stream) {
                outgoing.look(&info, &mut self.sent, &mut self.rtts);
            }
        }
    }

    fn close(&mut self, now_ns: i64, boundary: u64) -> Half {
        let phase = self.phase.as_ref().expect("a phase is under way");
        let (start_ns, end_ns) = (phase.since(self.start_ns), phase.since(now_ns));
        let mut half = Half {
            id: phase.sending.id,
            boundary,
            start_ns,
            end_ns,
            on_ns: phase.pattern.on_between(start_ns, end_ns),
            ..Half::default()
        };
        if !self.outgoing.is_empty() {
            let mut sent = std::mem::take(&mut self.sent);
            sent.smoothed_rtt = self.rtts.take();
            half.sent = Some(sent);
        }
        if !self.incoming.is_empty() {
            let received = self.received();
            half.received_bytes = Some(received - self.received);
            self.received = received;
        }
        half.round_trips = self
            .round_trips
            .as_ref()
            .map(|counter| lock(counter).take());
        let cpu_ns = clock::process_cpu();
        half.cpu_ns = (cpu_ns - self.cpu_ns) as u64;
        self.cpu_ns = cpu_ns;
        let waited = self.roles.waited();
        half.waited = waited.since(self.waited);
        self.waited = waited;
        (self.start_ns, self.boundary) = (now_ns, boundary);
        half
    }
}

impl Outgoing {
    fn new(stream: TcpStream) -> Self {
        let info = Info::read(&stream).ok();
        let of = |field: fn(&Info) -> Option<u64>| info.as_ref().and_then(field).unwrap_or(0);
        Self {
            // What was written before the data is none of it, even if it is acknowledged later.
            acked: of(Info::acked_bytes) + tcp::outstanding_bytes(&stream),
            segments: info.as_ref().and_then(Info::segments).unwrap_or(0),
            retransmits: info.as_ref().map_or(0, Info::retransmits),
            busy_us: of(Info::busy_us),
            receiver_limited_us: of(Info::receiver_limited_us),
            buffer_limited_us: of(Info::buffer_limited_us),
            stream,
        }
    }

    /// Adds what has happened since the last look.
    fn look(&mut self, info: &Info, sent: &mut Sent, rtts: &mut Counter) {
        let acked = advance(&mut self.acked, info.acked_bytes()).unwrap_or(0);
        sent.acked_bytes += acked;
        let retransmits = info.retransmits();
        sent.retransmits += u64::from(retransmits.wrapping_sub(self.retransmits));
        self.retransmits = retransmits;
        if let Some(segments) = info.segments() {
            let more = u64::from(segments.wrapping_sub(self.segments));
            sent.segments = Some(sent.segments.unwrap_or(0) + more);
            self.segments = segments;
        }
        for (last, now, sum) in [
            (&mut self.busy_us, info.busy_us(), &mut sent.busy_ns),
            (
                &mut self.receiver_limited_us,
                info.receiver_limited_us(),
                &mut sent.receiver_limited_ns,
            ),
            (
                &mut self.buffer_limited_us,
                info.buffer_limited_us(),
                &mut sent.buffer_limited_ns,
            ),
        ] {
            if let Some(more) = advance(last, now) {
                *sum = Some(sum.unwrap_or(0) + more * 1000);
            }
        }
        sent.segment_bytes = info.segment_bytes();
        let min_rtt = info.min_rtt_us().map(|rtt| u64::from(rtt) * 1000);
        sent.min_rtt_ns = min_rtt.into_iter().chain(sent.min_rtt_ns).min();
        if acked > 0 || info.unacked_segments() > 0 {
            rtts.count(u64::from(info.rtt_us()) * 1000);
            sent.samples += 1;
            sent.rtt_variation_ns += u64::from(info.variation_us()) * 1000;
            sent.window_segments += u64::from(info.window_segments());
        }
    }
}

fn advance(last: &mut u64, now: Option<u64>) -> Option<u64> {
    let now = now?;
    let more = now.saturating_sub(*last);
    *last = now.max(*last);
    Some(more)
}

fn lock(counter: &Mutex<Counter>) -> std::sync::MutexGuard<'_, Counter> {
    counter.lock().unwrap_or_else(PoisonError::into_inner)
}
