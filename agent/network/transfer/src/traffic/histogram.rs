//! Counting times in bins, the widths of which follow from the times.

use record::network::Histogram;

/// Bins of a power of two.
const PART: u64 = 64;
/// Every 64-bit time has its bin.
const BINS: usize = 59 * PART as usize;

/// A histogram that is being filled; counting takes no memory and no search.
pub struct Counter {
    bins: Box<[u64; BINS]>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    /// Times that were not taken, since too many were under way.
    pub left_out: u64,
}

impl Counter {
    pub fn new() -> Self {
        Self {
            bins: Box::new([0; BINS]),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            left_out: 0,
        }
    }

    pub fn count(&mut self, time_ns: u64) {
        self.bins[bin(time_ns)] += 1;
        self.min_ns = self.min_ns.min(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
        self.sum_ns = self.sum_ns.saturating_add(time_ns);
    }

    /// What was counted since it was last asked.
    pub fn take(&mut self) -> Histogram {
        if self.min_ns > self.max_ns {
            return Histogram::default();
        }
        let filled = self.bins.iter().enumerate().filter(|(_, n)| **n > 0);
        let taken = Histogram {
            bins: filled.map(|(bin, n)| (bin as u32, *n)).collect(),
            min_ns: Some(self.min_ns),
            max_ns: Some(self.max_ns),
            sum_ns: self.sum_ns,
        };
        self.bins.fill(0);
        (self.min_ns, self.max_ns, self.sum_ns) = (u64::MAX, 0, 0);
        taken
    }
}

/// As `record::network::Histogram` numbers them.
fn bin(time_ns: u64) -> usize {
    if time_ns < PART {
        return time_ns as usize;
    }
    let e = u64::from(time_ns.ilog2()) - 5;
    (PART * e + (time_ns >> (e - 1)) - PART) as usize
}

/// Adds what another histogram has seen.
pub fn add(to: &mut Histogram, more: &Histogram) {
    for (bin, n) in &more.bins {
        match to.bins.binary_search_by_key(bin, |(bin, _)| *bin) {
            Ok(place) => to.bins[place].1 = to.bins[place].1.saturating_add(*n),
            Err(place) => to.bins.insert(place, (*bin, *n)),
        }
    }
    to.min_ns = to.min_ns.into_iter().chain(more.min_ns).min();
    to.max_ns = to.max_ns.max(more.max_ns);
    to.sum_ns = to.sum_ns.saturating_add(more.sum_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a bin begins, as the schema says.
    fn start(bin: usize) -> u64 {
        let (e, m) = (bin as u64 / PART, bin as u64 % PART);
        match e {
            0 => m,
            _ => (PART + m) << (e - 1),
        }
    }

    #[test]
    fn every_time_is_in_its_bin_and_bins_are_narrow() {
        for number in 0..BINS {
            assert_eq!(bin(start(number)), number);
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
        for time in [
            0,
            63,
            64,
            127,
            128,
            129,
            130,
            999_999,
            1 << 40,
            (1 << 40) - 1,
        ] {
            let number = bin(time);
            assert!(start(number) <= time && time < start(number + 1), "{time}");
            assert!(start(number + 1) - start(number) <= (time / 64).max(1));
        }
    }

    #[test]
    fn what_was_counted_is_told_once() {
        let mut counter = Counter::new();
        for time in [5, 5, 1000, 70] {
            counter.count(time);
        }
        let taken = counter.take();
        assert_eq!(taken.bins, [(5, 2), (70, 1), (bin(1000) as u32, 1)]);
        assert_eq!((taken.min_ns, taken.max_ns), (Some(5), Some(1000)));
        assert_eq!(taken.sum_ns, 1080);
        assert!(counter.take().bins.is_empty() && counter.take().min_ns.is_none());
    }

    #[test]
    fn sums_are_as_if_counted_together() {
        let (mut one, mut two, mut both) = (Counter::new(), Counter::new(), Counter::new());
        for time in 0..2000 {
            let which = if time % 3 == 0 { &mut one } else { &mut two };
            which.count(time * time);
            both.count(time * time);
        }
        let mut sum = one.take();
        add(&mut sum, &two.take());
        let both = both.take();
        assert_eq!(sum.bins, both.bins);
        assert_eq!(
            (sum.min_ns, sum.max_ns, sum.sum_ns),
            (both.min_ns, both.max_ns, both.sum_ns)
        );
        add(&mut sum, &Histogram::default());
        assert_eq!((sum.bins, sum.min_ns), (both.bins, both.min_ns));
    }
}
