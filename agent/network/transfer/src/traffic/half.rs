//! What one end saw of an interval, and how the halves of both become one.

use record::network::{Direction, Histogram, Interval};
use serde::{Deserialize, Serialize};

use crate::traffic::histogram;
use crate::traffic::waits::Waited;

/// As the number of the boundary at which the last interval of a phase ends.
pub const LAST: u64 = u64::MAX;

/// No network carries more.
const MOST_BPS: u128 = 100_000_000_000_000;
/// Of less time, counts say nothing of a rate.
const MOMENT_NS: u64 = 100_000;
/// Both ends divide a phase alike; what one is ahead of the other is that its clock is fast, or that
/// the other's machine stood still, for less than it takes until the connection is lost.
const AHEAD_NS: u64 = 60_000_000_000;
const AHEAD_PART: u64 = 1000;

/// One end's. Both divide a phase at the same times, counted from when each began it: the other
/// end is late by as long as the order takes to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Half {
    /// Its phase.
    pub id: u64,
    /// Number of the boundary at which it ends.
    pub boundary: u64,
    /// Where it began before the phase did, as a rest that goes on from what was sent before: by how
    /// much.
    pub early_ns: u64,
    /// Since the phase began.
    pub start_ns: u64,
    pub end_ns: u64,
    pub on_ns: u64,
    /// Where this end sends, and where it receives.
    pub sent: Option<Sent>,
    pub received_bytes: Option<u64>,
    pub round_trips: Option<Histogram>,
    pub cpu_ns: u64,
    pub waited: Waited,
}

/// What a sender's kernel told of its streams, summed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sent {
    pub acked_bytes: u64,
    pub segments: Option<u64>,
    pub retransmits: u64,
    pub segment_bytes: u32,
    pub min_rtt_ns: Option<u64>,
    pub smoothed_rtt: Histogram,
    pub segment_rtt: Histogram,
    pub segments_left_out: u64,
    /// Of so many samples, the sums.
    pub samples: u64,
    pub rtt_variation_ns: u64,
    pub window_segments: u64,
    pub busy_ns: Option<u64>,
    pub receiver_limited_ns: Option<u64>,
    pub buffer_limited_ns: Option<u64>,
}

impl Half {
    /// Whether the other end's half can be of the same interval as ours, and of a network.
    pub fn can_be_beside(&self, ours: &Self) -> bool {
        let ahead_ns = (ours.end_ns / AHEAD_PART).saturating_add(AHEAD_NS);
        if self.start_ns > self.end_ns || self.end_ns > ours.end_ns.saturating_add(ahead_ns) {
            return false;
        }
        let lasts_ns = (self.end_ns - self.start_ns).saturating_add(self.early_ns);
        let most = MOST_BPS * u128::from(lasts_ns.max(MOMENT_NS)) / 8 / 1_000_000_000;
        let acked = self.sent.as_ref().map(|sent| sent.acked_bytes);
        let mut counts = [acked, self.received_bytes].into_iter().flatten();
        self.on_ns <= lasts_ns && counts.all(|bytes| u128::from(bytes) <= most)
    }

    /// Becomes the half of a longer interval: with the one after it.
    pub fn absorb(&mut self, next: Self) {
        self.boundary = next.boundary;
        self.end_ns = next.end_ns;
        self.on_ns = self.on_ns.saturating_add(next.on_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(next.cpu_ns);
        self.waited = self.waited.and(next.waited);
        self.received_bytes = sum(self.received_bytes, next.received_bytes);
        if let (Some(sent), Some(next)) = (&mut self.sent, next.sent) {
            sent.absorb(&next);
        }
        if let (Some(round_trips), Some(next)) = (&mut self.round_trips, next.round_trips) {
            histogram::add(round_trips, &next);
        }
    }
}

impl Sent {
    fn absorb(&mut self, next: &Self) {
        self.acked_bytes = self.acked_bytes.saturating_add(next.acked_bytes);
        self.segments = sum(self.segments, next.segments);
        self.retransmits = self.retransmits.saturating_add(next.retransmits);
        self.segment_bytes = next.segment_bytes;
        self.min_rtt_ns = next.min_rtt_ns.or(self.min_rtt_ns);
        histogram::add(&mut self.smoothed_rtt, &next.smoothed_rtt);
        histogram::add(&mut self.segment_rtt, &next.segment_rtt);
        self.segments_left_out = self
            .segments_left_out
            .saturating_add(next.segments_left_out);
        self.samples = self.samples.saturating_add(next.samples);
        self.rtt_variation_ns = self.rtt_variation_ns.saturating_add(next.rtt_variation_ns);
        self.window_segments = self.window_segments.saturating_add(next.window_segments);
        self.busy_ns = sum(self.busy_ns, next.busy_ns);
        self.receiver_limited_ns = sum(self.receiver_limited_ns, next.receiver_limited_ns);
        self.buffer_limited_ns = sum(self.buffer_limited_ns, next.buffer_limited_ns);
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

/// The intervals of every direction, of this end's half and of the other's, where that was told.
/// `began_ns`: when the phase began, of the measurement.
pub fn intervals(here: Half, there: Option<Half>, began_ns: u64) -> Vec<Interval> {
    let times = |half: &Half| {
        let start_ns = began_ns.saturating_add(half.start_ns);
        let end_ns = began_ns.saturating_add(half.end_ns);
        [start_ns.saturating_sub(half.early_ns), end_ns, half.on_ns]
    };
    let here_times = times(&here);
    let mut round_trips = here.round_trips;
    let there_waited = there.as_ref().map(|there| there.waited).unwrap_or_default();
    let (there_sent, there_received, there_cpu, there_times) = match there {
        Some(there) => {
            let there_times = times(&there);
            (
                there.sent,
                there.received_bytes,
                Some(there.cpu_ns),
                there_times,
            )
        }
        None => (None, None, None, here_times),
    };
    let mut pings_waited_ns = sum(here.waited.pinging_ns, there_waited.pinging_ns);
    let here_cpu = Some(here.cpu_ns);
    let mut all = Vec::new();
    // What a sender has counted belongs to the time between its own looks.
    for (direction, sent, received, cpu, waited, [start_ns, end_ns, on_ns]) in [
        (
            Direction::Out,
            here.sent,
            there_received,
            [here_cpu, there_cpu],
            [here.waited.sending_ns, there_waited.receiving_ns],
            here_times,
        ),
        (
            Direction::In,
            there_sent,
            here.received_bytes,
            [there_cpu, here_cpu],
            [there_waited.sending_ns, here.waited.receiving_ns],
            there_times,
        ),
    ] {
        let Some(sent) = sent else { continue };
        let mean = |sum: u64| (sent.samples > 0).then(|| sum as f64 / sent.samples as f64);
        all.push(Interval {
            id: here.id,
            direction,
            start_ns,
            end_ns,
            on_ns,
            acked_bytes: sent.acked_bytes,
            received_bytes: received,
            segments: sent.segments,
            retransmits: sent.retransmits,
            segment_bytes: sent.segment_bytes,
            min_rtt_ns: sent.min_rtt_ns,
            rtt_variation_ns: mean(sent.rtt_variation_ns).map(|mean| mean as u64),
            window_segments: mean(sent.window_segments),
            smoothed_rtt: sent.smoothed_rtt,
            segment_rtt: Some(sent.segment_rtt).filter(|times| !times.bins.is_empty()),
            segments_left_out: Some(sent.segments_left_out),
            busy_ns: sent.busy_ns,
            receiver_limited_ns: sent.receiver_limited_ns,
            buffer_limited_ns: sent.buffer_limited_ns,
            round_trips: round_trips.take().unwrap_or_default(),
            sender_cpu_ns: cpu[0],
            receiver_cpu_ns: cpu[1],
            sender_waited_ns: waited[0],
            receiver_waited_ns: waited[1],
            round_trips_waited_ns: pings_waited_ns.take(),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_network_does_cannot_be() {
        let second = |acked_bytes| Half {
            end_ns: 1_000_000_000,
            on_ns: 1_000_000_000,
            received_bytes: Some(0),
            sent: Some(Sent {
                acked_bytes,
                ..Sent::default()
            }),
            ..Half::default()
        };
        let ours = second(1);
        let most = 12_500_000_000_000;
        assert!(second(most).can_be_beside(&ours));
        assert!(!second(most + 1).can_be_beside(&ours));
        type Change = fn(&mut Half);
        let changes: [Change; 5] = [
            |half| half.received_bytes = Some(u64::MAX),
            |half| half.on_ns += 1,
            |half| (half.start_ns, half.end_ns) = (2, 1),
            |half| half.end_ns = 100_000_000_000,
            |half| half.end_ns = u64::MAX,
        ];
        for change in changes {
            let mut theirs = second(1);
            change(&mut theirs);
            assert!(!theirs.can_be_beside(&ours), "{theirs:?}");
        }
    }
}
