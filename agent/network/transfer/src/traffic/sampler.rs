//! Looks at the streams of one end while a phase lasts, and makes its half of every interval.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use sys::clock;

use crate::traffic::gate::Gate;
use crate::traffic::half::{Half, Sent, LAST};
use crate::traffic::histogram::Counter;
use crate::traffic::phase::Phase;
use crate::traffic::tcp::{self, Info};
use crate::traffic::waits::{Roles, Waited};

/// How long a phase waits at its end until what it has sent is acknowledged.
const DRAIN_NS: i64 = 1_000_000_000;
/// How often it looks whether that is so.
const DRAIN_LOOK_NS: i64 = 500_000;

/// Every byte belongs to the interval in which it was acknowledged, and every interval to the time
/// between two looks at the counters, so that none can be faster than the link. A phase that ends by
/// itself ends when all that it has sent is acknowledged: the next finds the streams empty.
pub struct Sampler {
    pub gate: Arc<Gate>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Arc<AtomicU64>>,
    round_trips: Option<Arc<Mutex<Counter>>>,
    segments: Arc<Mutex<Counter>>,
    rtts: Counter,
    sent: Sent,
    received: u64,
    cpu_ns: i64,
    roles: Arc<Roles>,
    waited: Waited,
    phase: Option<Phase>,
    /// Where the interval under way began; without a phase, where the last one ended.
    start_ns: i64,
    boundary: u64,
    /// Whether the gate was open in the interval under way.
    is_on: bool,
    /// The phase is over, and waits so long for what is still on its way.
    drains_until_ns: Option<i64>,
    /// A phase was here before.
    was_used: bool,
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
        segments: Arc<Mutex<Counter>>,
        roles: Arc<Roles>,
    ) -> Self {
        let mut sampler = Self {
            gate,
            outgoing: outgoing.into_iter().map(Outgoing::new).collect(),
            incoming,
            round_trips,
            segments,
            rtts: Counter::new(),
            sent: Sent::default(),
            received: 0,
            cpu_ns: clock::process_cpu(),
            waited: roles.waited(),
            roles,
            phase: None,
            start_ns: clock::monotonic(),
            boundary: 0,
            is_on: false,
            drains_until_ns: None,
            was_used: false,
        };
        sampler.look();
        sampler
    }

    /// Begins a phase, or goes on with it.
    pub fn begin(&mut self, phase: Phase, now_ns: i64) {
        // One that was asked for before the last was over goes on where that ended, and so does a
        // rest: what is still acknowledged in it has its time with it.
        if !(self.was_used && (phase.began_ns <= self.start_ns || !phase.sends())) {
            // What happened before is nobody's.
            self.look();
            self.sent = Sent::default();
            self.rtts.take();
            *lock(&self.segments) = Counter::new();
            if self.was_used {
                // Of the first, whoever sends may have begun before this end did.
                self.received = self.received();
            }
            self.cpu_ns = clock::process_cpu();
            self.waited = self.roles.waited();
            self.start_ns = now_ns.max(phase.began_ns);
            if let Some(round_trips) = &self.round_trips {
                lock(round_trips).take();
            }
        }
        self.boundary = phase.boundary(now_ns);
        self.is_on = phase.is_on(now_ns);
        self.was_used = true;
        self.drains_until_ns = None;
        let write_bytes = phase.sending.write_bytes;
        self.phase = Some(phase);
        self.turn(write_bytes);
    }

    /// When to call `step` next.
    pub fn next_ns(&self, now_ns: i64) -> Option<i64> {
        let phase = self.phase.as_ref()?;
        Some(match self.drains_until_ns {
            Some(until_ns) => until_ns.min(now_ns + DRAIN_LOOK_NS),
            None => phase.next_ns(now_ns),
        })
    }

    /// Does what is due, and returns the half of an interval that is over.
    pub fn step(&mut self, now_ns: i64) -> Option<Half> {
        let phase = self.phase.as_ref()?;
        let (boundary, is_on) = (phase.boundary(now_ns), phase.is_on(now_ns));
        let write_bytes = phase.sending.write_bytes;
        if boundary == LAST {
            return self.drain(now_ns);
        }
        if !is_on {
            self.gate.close();
        }
        self.look();
        let half = (boundary > self.boundary).then(|| self.close(boundary));
        self.is_on = is_on;
        self.turn(write_bytes);
        half
    }

    /// The phase is over. Where it sent until now, an interval ends here, and what is still on its way
    /// has one of its own, in which nothing is sent: so its time is that of its bytes, and the time in
    /// which data was sent does not end with the pause that a receiver makes before its last
    /// acknowledgement.
    fn drain(&mut self, now_ns: i64) -> Option<Half> {
        self.gate.close();
        self.look();
        let Some(until_ns) = self.drains_until_ns else {
            if !self.is_on {
                return self.end();
            }
            self.drains_until_ns = Some(now_ns + DRAIN_NS);
            let end = self.phase.as_ref()?.pattern.duration_ns;
            let half = self.close(end);
            self.is_on = false;
            return Some(half);
        };
        if now_ns < until_ns && self.outgoing.iter().any(Outgoing::is_under_way) {
            return None;
        }
        if let Some(round_trips) = &self.round_trips {
            // Of a network that is neither idle nor under load.
            lock(round_trips).take();
        }
        self.end()
    }

    /// Whether a phase is under way here.
    pub fn is_under_way(&self) -> bool {
        self.phase.is_some()
    }

    /// Ends the phase at once, and returns the half of its last interval.
    pub fn end(&mut self) -> Option<Half> {
        self.phase.as_ref()?;
        self.gate.close();
        self.look();
        let half = self.close(LAST);
        self.phase = None;
        self.is_on = false;
        self.drains_until_ns = None;
        Some(half)
    }

    /// Bytes that have come.
    fn received(&self) -> u64 {
        self.incoming
            .iter()
            .map(|stream| stream.load(Relaxed))
            .sum()
    }

    fn turn(&self, write_bytes: u32) {
        if self.is_on {
            self.gate.open(write_bytes);
        } else {
            self.gate.close();
        }
    }

    fn look(&mut self) {
        for outgoing in &mut self.outgoing {
            if let Ok(info) = Info::read(&outgoing.stream) {
                outgoing.look(&info, &mut self.sent, &mut self.rtts);
            }
        }
    }

    /// Ends the interval under way, right after a look at the streams.
    fn close(&mut self, boundary: u64) -> Half {
        // The counters are of this moment, however late it is.
        let now_ns = clock::monotonic();
        let phase = self.phase.as_ref().expect("a phase is under way");
        let (start_ns, end_ns) = (phase.since(self.start_ns), phase.since(now_ns));
        let mut half = Half {
            id: phase.sending.id,
            boundary,
            early_ns: u64::try_from(phase.began_ns - self.start_ns).unwrap_or(0),
            start_ns,
            end_ns,
            on_ns: if self.is_on { end_ns - start_ns } else { 0 },
            ..Half::default()
        };
        if !self.outgoing.is_empty() {
            let mut sent = std::mem::take(&mut self.sent);
            sent.smoothed_rtt = self.rtts.take();
            let mut segments = lock(&self.segments);
            sent.segment_rtt = segments.take();
            sent.segments_left_out = std::mem::take(&mut segments.left_out);
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

    /// Whether something was written that is not acknowledged yet.
    fn is_under_way(&self) -> bool {
        tcp::outstanding_bytes(&self.stream) > 0
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

#[cfg(test)]
mod tests {
    use record::network::Sending;

    use super::*;
    use crate::traffic::segments;

    #[test]
    fn what_came_before_this_end_began_is_of_the_first_phase() {
        let incoming = Arc::<AtomicU64>::default();
        let gate = Arc::<Gate>::default();
        let roles = Arc::<Roles>::default();
        let mut sampler = Sampler::new(
            gate,
            Vec::new(),
            vec![incoming.clone()],
            None,
            segments::counter(),
            roles,
        );
        // The other end sends already; this one is late.
        incoming.store(1000, Relaxed);
        let sending = Sending {
            id: 0,
            duration_ns: 1_000_000_000,
            on_ns: 1_000_000_000,
            off_ns: 0,
            write_bytes: 1,
        };
        let now_ns = clock::monotonic();
        sampler.begin(Phase::new(sending, now_ns, 1_000_000, 1_000_000), now_ns);
        incoming.store(1500, Relaxed);
        let half = sampler.end().unwrap();
        assert_eq!(half.received_bytes, Some(1500));
    }

    #[test]
    fn what_the_kernel_says_is_added_up_in_nanoseconds() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut outgoing = Outgoing::new(stream);
        let (mut sent, mut rtts) = (Sent::default(), Counter::new());
        // SAFETY: a structure of numbers.
        let mut all: libc::tcp_info = unsafe { std::mem::zeroed() };
        (all.tcpi_rtt, all.tcpi_rttvar, all.tcpi_snd_cwnd) = (200, 50, 10);
        (all.tcpi_unacked, all.tcpi_snd_mss) = (1, 1448);
        all.tcpi_total_retrans = outgoing.retransmits + 3;
        for _ in 0..2 {
            outgoing.look(&Info::of(all), &mut sent, &mut rtts);
        }
        assert_eq!((sent.samples, sent.retransmits), (2, 3));
        assert_eq!((sent.rtt_variation_ns, sent.window_segments), (100_000, 20));
        assert_eq!(sent.segment_bytes, 1448);
    }
}
