//! A phase under way: its pattern, tied to the clock.

use record::network::Sending;

use crate::traffic::half::LAST;
use crate::traffic::pattern::Pattern;

/// A phase of traffic; its times, given and returned, are of CLOCK_MONOTONIC.
#[derive(Debug, Clone)]
pub struct Phase {
    pub sending: Sending,
    pub pattern: Pattern,
    pub began_ns: i64,
    interval_ns: u64,
    sample_ns: u64,
}

impl Phase {
    pub fn new(sending: Sending, began_ns: i64, interval_ns: u64, sample_ns: u64) -> Self {
        Self {
            pattern: Pattern::of(&sending),
            sending,
            began_ns,
            interval_ns,
            sample_ns,
        }
    }

    /// Since it began; what is before is its beginning.
    pub fn since(&self, now_ns: i64) -> u64 {
        u64::try_from(now_ns - self.began_ns).unwrap_or(0)
    }

    pub fn end_ns(&self) -> i64 {
        self.at(self.pattern.duration_ns)
    }

    fn at(&self, since_ns: u64) -> i64 {
        self.began_ns.saturating_add_unsigned(since_ns)
    }

    /// When there is something to be done next, after a moment.
    pub fn next_ns(&self, after_ns: i64) -> i64 {
        let since = self.since(after_ns);
        let turn = self.pattern.next_turn(since);
        let sample = next_multiple(since, self.sample_ns);
        let boundary = next_multiple(since, self.interval_ns);
        self.at(turn.min(sample).min(boundary))
    }

    /// The boundary of intervals that was passed last, named by its time since the phase began:
    /// intervals end at whole multiples of their length, and wherever sending begins or ends, so
    /// that none is of both. After the end: the last.
    pub fn boundary(&self, now_ns: i64) -> u64 {
        let since = self.since(now_ns);
        if since >= self.pattern.duration_ns {
            LAST
        } else {
            let whole = since - since % self.interval_ns;
            whole.max(self.pattern.last_turn(since))
        }
    }

    /// Whether data is to be sent now.
    pub fn is_on(&self, now_ns: i64) -> bool {
        self.pattern.is_on(self.since(now_ns))
    }

    /// Whether another goes on as this one ends: it is not waited for what is on its way, which would
    /// be a rest.
    pub fn is_joined_by(&self, next: &Sending) -> bool {
        self.sends() && next.on_ns > 0 && next.write_bytes == self.sending.write_bytes
    }

    /// Whether data is to be sent at all.
    pub fn sends(&self) -> bool {
        self.sending.on_ns > 0
    }
}

fn next_multiple(after: u64, of: u64) -> u64 {
    (after / of).saturating_add(1).saturating_mul(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase() -> Phase {
        let sending = Sending {
            id: 3,
            duration_ns: 95,
            on_ns: 7,
            off_ns: 16,
            write_bytes: 1,
        };
        Phase::new(sending, 1000, 20, 5)
    }

    #[test]
    fn it_is_looked_after_at_turns_samples_and_boundaries() {
        let phase = phase();
        let mut times = vec![phase.next_ns(1000)];
        while *times.last().unwrap() < phase.end_ns() {
            times.push(phase.next_ns(*times.last().unwrap()));
        }
        let expected = (1..=95).filter(|t| t % 5 == 0 || t % 23 == 7 || t % 23 == 0);
        assert_eq!(times, expected.map(|t| 1000 + t).collect::<Vec<i64>>());
    }

    #[test]
    fn intervals_end_at_multiples_and_turns_and_the_last_at_the_end() {
        let phase = phase();
        for (time, boundary) in [
            (900, 0),
            (1000, 0),
            (1006, 0),
            (1007, 7),
            (1019, 7),
            (1020, 20),
            (1022, 20),
            (1023, 23),
            (1094, 92),
        ] {
            assert_eq!(phase.boundary(time), boundary);
        }
        assert!(phase.is_on(1006) && !phase.is_on(1007) && phase.sends());
        assert_eq!(phase.boundary(1095), LAST);
        assert_eq!(phase.since(900), 0);
    }
}
