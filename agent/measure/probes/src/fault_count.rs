//! Touches of fresh pages: what they took, beside what the kernel counted.

use sys::clock;
use sys::usage;

/// What windows of touches took, and what the kernel counted in them.
#[derive(Debug)]
pub struct Count {
    pub touches: i64,
    pub minor: i64,
    pub major: i64,
    /// Nanoseconds of one touch, in the least window.
    pub least: f64,
}

/// Has pages touched, window by window, each of which begins with fresh ones.
pub fn count(
    budget_ns: i64,
    touches: usize,
    mut fresh: impl FnMut() -> Result<(), String>,
    touch: impl Fn(),
) -> Result<Count, String> {
    const FEWEST: usize = 5;
    let end = clock::monotonic() + budget_ns;
    let mut windows = 0;
    let mut count = Count {
        touches: 0,
        minor: 0,
        major: 0,
        least: f64::INFINITY,
    };
    // The first one, which warms, does not count.
    fresh()?;
    touch();
    while windows < FEWEST || clock::monotonic() < end {
        fresh()?;
        let before = usage::own_thread();
        let start = clock::monotonic();
        touch();
        let taken = clock::monotonic() - start;
        let after = usage::own_thread();
        windows += 1;
        count.touches += touches as i64;
        count.minor += after.minor_faults - before.minor_faults;
        count.major += after.major_faults - before.major_faults;
        count.least = count.least.min(taken as f64 / touches as f64);
    }
    Ok(count)
}

impl Count {
    /// Nanoseconds of one fault, where the kernel counted one, minor, for every touch.
    pub fn per_fault(&self) -> Result<f64, String> {
        let Self {
            touches,
            minor,
            major,
            least,
        } = self;
        if *major > 0 || !agree(*minor, *touches) {
            return Err(format!(
                "{touches} pages were touched, but the kernel counted {minor} minor and {major} \
                 major faults"
            ));
        }
        Ok(least * *touches as f64 / *minor as f64)
    }

    pub fn touches_per_fault(&self) -> f64 {
        self.touches as f64 / self.minor as f64
    }
}

/// But for the few that the stack or the kernel had meanwhile.
pub fn agree(counted: i64, touches: i64) -> bool {
    (counted - touches).abs() * 100 <= touches * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_does_not_agree_is_refused() {
        let count = |minor, major| Count {
            touches: 1000,
            minor,
            major,
            least: 500.0,
        };
        assert_eq!(count(1000, 0).per_fault(), Ok(500.0));
        assert_eq!(count(1020, 0).per_fault(), Ok(500.0 / 1.02));
        let why = count(63, 0).per_fault().unwrap_err();
        assert!(why.contains("1000") && why.contains("63"), "{why}");
        assert!(count(1000, 1).per_fault().is_err());
    }
}
