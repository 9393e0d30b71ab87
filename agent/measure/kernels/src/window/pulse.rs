//! The clock that the CPU really runs at, felt now and then between two steps.

use sys::addition_chain::adds;
use sys::clock;

/// Additions that wait for each other, one a cycle: some 20 µs, a thousand times what it takes to
/// read the clock.
const ADDITIONS: u64 = 1 << 16;
/// So seldom that it takes no more than some thousandth of the time.
const EVERY_NS: i64 = 10_000_000;
const ROOM: usize = 1024;

pub struct Pulse {
    every_ns: i64,
    due_ns: i64,
    beats: Vec<f64>,
}

impl Pulse {
    pub fn new() -> Self {
        Self {
            every_ns: EVERY_NS,
            due_ns: 0,
            beats: Vec::with_capacity(ROOM),
        }
    }

    /// Feels it where that is due; whether it was.
    pub fn feel(&mut self, now_ns: i64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        let start = clock::monotonic();
        adds(ADDITIONS);
        let taken = (clock::monotonic() - start).max(1);
        self.keep(ADDITIONS as f64 * 1e9 / taken as f64);
        self.due_ns = now_ns + self.every_ns;
        true
    }

    /// In a long window every other beat goes, and those to come are twice as rare.
    fn keep(&mut self, hz: f64) {
        if self.beats.len() == ROOM {
            let mut kept = false;
            self.beats.retain(|_| {
                kept = !kept;
                kept
            });
            self.every_ns *= 2;
        }
        self.beats.push(hz);
    }

    /// Median of the faster half: whoever is interrupted meanwhile seems slow, nobody fast.
    pub fn hz(&mut self) -> Option<f64> {
        self.beats.sort_unstable_by(f64::total_cmp);
        self.beats.get(self.beats.len() * 3 / 4).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_do_not_count() {
        let mut pulse = Pulse::new();
        assert_eq!(pulse.hz(), None);
        for beat in 0..100 {
            pulse.keep(if beat % 2 == 0 { 3e9 } else { 1e8 });
        }
        assert_eq!(pulse.hz(), Some(3e9));
    }

    #[test]
    fn long_windows_are_felt_more_seldom_in_the_same_room() {
        let mut pulse = Pulse::new();
        let room = pulse.beats.capacity();
        (0..5 * ROOM).for_each(|beat| pulse.keep(beat as f64));
        assert_eq!(pulse.beats.capacity(), room);
        assert!(pulse.every_ns > EVERY_NS && pulse.beats.contains(&0.0));
    }

    #[test]
    fn it_is_felt_when_it_is_due() {
        let mut pulse = Pulse::new();
        assert!(pulse.feel(1) && !pulse.feel(2) && pulse.feel(1 + EVERY_NS));
        assert!(pulse.hz().unwrap() > 1e6);
    }
}
