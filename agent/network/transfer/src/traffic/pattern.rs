//! When data is sent: times of a phase, in nanoseconds since it began.

use record::network::Sending;

/// Beyond this, times since boot would not fit: 146 years.
const LONGEST_NS: u64 = 1 << 62;

/// Sends for `on_ns`, rests for `off_ns`, and again, until `duration_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    on_ns: u64,
    /// 0: the whole time is on, or off.
    period_ns: u64,
    pub duration_ns: u64,
}

impl Pattern {
    pub fn of(sending: &Sending) -> Self {
        let on_ns = sending.on_ns.min(LONGEST_NS);
        let off_ns = sending.off_ns.min(LONGEST_NS);
        let is_cut = on_ns > 0 && off_ns > 0;
        Self {
            on_ns,
            period_ns: if is_cut { on_ns + off_ns } else { 0 },
            duration_ns: sending.duration_ns.min(LONGEST_NS),
        }
    }

    pub fn is_on(&self, at_ns: u64) -> bool {
        at_ns < self.duration_ns
            && match self.period_ns {
                0 => self.on_ns > 0,
                period => at_ns % period < self.on_ns,
            }
    }

    /// When sending began or ended last, at a moment or before; 0: it has not turned yet.
    pub fn last_turn(&self, at_ns: u64) -> u64 {
        let at_ns = at_ns.min(self.duration_ns);
        match self.period_ns {
            0 => 0,
            period => {
                let start = at_ns - at_ns % period;
                if at_ns - start < self.on_ns {
                    start
                } else {
                    start + self.on_ns
                }
            }
        }
    }

    /// When sending begins or ends next after a moment; at the latest the end of it all.
    pub fn next_turn(&self, after_ns: u64) -> u64 {
        let turn = match self.period_ns {
            0 => self.duration_ns,
            period => {
                let start = after_ns - after_ns % period;
                if after_ns - start < self.on_ns {
                    start + self.on_ns
                } else {
                    start + period
                }
            }
        };
        turn.min(self.duration_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(on_ns: u64, off_ns: u64, duration_ns: u64) -> Pattern {
        Pattern::of(&Sending {
            id: 1,
            duration_ns,
            on_ns,
            off_ns,
            write_bytes: 1,
        })
    }

    #[test]
    fn turns_and_times_agree() {
        for (on, off, duration) in [(3, 4, 100), (3, 0, 20), (0, 4, 20), (0, 0, 9), (50, 1, 20)] {
            let pattern = pattern(on, off, duration);
            for time in 0..duration + 5 {
                let last = pattern.last_turn(time);
                assert!(last <= time);
                if time < duration {
                    assert!((last..=time).all(|t| pattern.is_on(t) == pattern.is_on(time)));
                    let turn = pattern.next_turn(time);
                    assert!(turn > time);
                    assert!((time..turn).all(|t| pattern.is_on(t) == pattern.is_on(time)));
                    assert!(turn == duration || pattern.is_on(turn) != pattern.is_on(time));
                }
            }
        }
    }

    #[test]
    fn no_number_is_too_large() {
        let all = u64::MAX;
        let pattern = pattern(all, all, all);
        assert!(pattern.is_on(7));
        assert_eq!(pattern.next_turn(7), LONGEST_NS);
        assert_eq!(pattern.last_turn(7), 0);
    }
}
