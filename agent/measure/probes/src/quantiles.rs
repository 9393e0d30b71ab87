//! Times of single operations, and what a round tells of them.

use sys::clock;

/// Room for times, taken before the clock is looked at.
pub struct Times(Vec<u32>);

impl Times {
    pub fn with_room(count: usize) -> Self {
        // Written once, so that its pages are there when they are needed.
        let mut room = vec![1; count];
        room.clear();
        Self(room)
    }

    pub fn add(&mut self, nanoseconds: i64) {
        if self.0.len() < self.0.capacity() {
            self.0.push(nanoseconds.clamp(0, u32::MAX.into()) as u32);
        }
    }

    /// Times one operation after the other, until the time or the room is at its end.
    ///
    /// # Errors
    /// The first of the operation's.
    pub fn fill<E>(
        &mut self,
        budget_ns: i64,
        mut work: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = clock::monotonic();
        let end = before + budget_ns;
        while self.0.len() < self.0.capacity() {
            work()?;
            let now = clock::monotonic();
            self.add(now - before);
            if now >= end {
                break;
            }
            before = now;
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn total(&self) -> f64 {
        self.0.iter().map(|time| f64::from(*time)).sum()
    }

    pub fn sort(mut self) -> Sorted {
        self.0.sort_unstable();
        Sorted(self.0)
    }
}

/// Times in order of size.
pub struct Sorted(Vec<u32>);

impl Sorted {
    /// The smallest time that at least this part of all reaches; not a number where there is
    /// none.
    pub fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0
            .get(rank.max(1) - 1)
            .map_or(f64::NAN, |time| f64::from(*time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_time_that_was_taken() {
        let mut times = Times::with_room(100);
        for time in (1..=150).rev() {
            times.add(time);
        }
        let sorted = times.sort();
        assert_eq!(sorted.quantile(0.0), 51.0);
        assert_eq!(sorted.quantile(0.5), 100.0);
        assert_eq!(sorted.quantile(0.99), 149.0);
        assert_eq!(sorted.quantile(1.0), 150.0);
        assert!(Times::with_room(3).sort().quantile(0.5).is_nan());
    }

    #[test]
    fn filling_ends_with_the_room_or_the_first_error() {
        let mut times = Times::with_room(10);
        times.fill(i64::MAX / 2, || Ok::<(), ()>(())).unwrap();
        assert_eq!(times.count(), 10);
        assert_eq!(Times::with_room(10).fill(0, || Err(7)), Err(7));
    }
}
