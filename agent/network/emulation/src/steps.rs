//! One rate after another, each from an absolute moment on, so that no delay adds up.

use record::network::Step;

#[derive(Debug, Clone)]
pub struct Steps {
    /// When each ends, from the first's beginning on, and its rate.
    ends: Vec<(i64, u64)>,
    start_ns: i64,
}

impl Steps {
    /// Steps of which there is at least one, and which do not last longer than 2^63 ns together.
    pub fn new(steps: &[Step], start_ns: i64) -> Self {
        let mut end = 0;
        let ends = steps.iter().map(|step| {
            end += step.duration_ns as i64;
            (end, step.rate_bps)
        });
        Self {
            ends: ends.collect(),
            start_ns,
        }
    }

    /// The rate of a moment, and when it ends.
    pub fn at(&self, now_ns: i64) -> (u64, i64) {
        let [(_, only)] = self.ends[..] else {
            let whole = self.ends.last().map_or(1, |(end, _)| *end);
            let passed = (now_ns - self.start_ns).max(0);
            let within = passed % whole;
            let step = self.ends.partition_point(|(end, _)| *end <= within);
            let (end, rate) = self.ends[step];
            return (rate, now_ns.max(self.start_ns).saturating_add(end - within));
        };
        (only, i64::MAX)
    }

    /// The lowest and the highest rate.
    pub fn range(&self) -> (u64, u64) {
        let rates = || self.ends.iter().map(|(_, rate)| *rate);
        let positive = rates().filter(|rate| *rate > 0).min();
        (positive.unwrap_or(0), rates().max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(of: &[(u64, u64)]) -> Vec<Step> {
        let step = |&(duration_ns, rate_bps)| Step {
            duration_ns,
            rate_bps,
        };
        of.iter().map(step).collect()
    }

    #[test]
    fn rates_follow_one_another_and_begin_again() {
        let steps = Steps::new(&steps(&[(10, 1), (5, 2), (1, 3)]), 100);
        for (now, rate, end) in [
            (90, 1, 110),
            (100, 1, 110),
            (109, 1, 110),
            (110, 2, 115),
            (114, 2, 115),
            (115, 3, 116),
            (116, 1, 126),
            (100 + 16 * 1_000_000_000, 1, 110 + 16 * 1_000_000_000),
        ] {
            assert_eq!(steps.at(now), (rate, end), "at {now}");
        }
        assert_eq!(steps.range(), (1, 3));
    }

    #[test]
    fn one_rate_is_for_ever() {
        let steps = Steps::new(&steps(&[(10, 7)]), 100);
        assert_eq!(steps.at(1_000_000), (7, i64::MAX));
    }
}
