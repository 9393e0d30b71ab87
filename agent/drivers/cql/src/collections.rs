//! Garbage collections of the server: Cassandra's class GCInspector logs one line for each.
//!
//! If the server is configured to write its log to the table system_views.system_logs, the lines can
//! be read by CQL. cassandra-stress reads the same figures from GCInspector over JMX.

/// Sums over garbage collections: over all in the log, or over those between two reads of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collections {
    pub number: u64,
    pub time_ms: u64,
    /// Sum of the squares of the single times, in ms², from which their standard deviation follows.
    pub squares_ms2: u64,
    /// Bytes freed: memory pools before minus after, so that a pool that grew counts negatively.
    pub bytes: i64,
    /// Oldest line in the log: its time in ms since 1970, and its number among the lines of the same
    /// ms, of which the newest has number 0. A full log loses its oldest line with each new one, so
    /// that two reads with the same oldest line have lost none in between.
    pub oldest: (i64, i32),
}

impl Default for Collections {
    /// An empty log.
    fn default() -> Self {
        Self {
            number: 0,
            time_ms: 0,
            squares_ms2: 0,
            bytes: 0,
            oldest: (i64::MAX, 0),
        }
    }
}

impl Collections {
    /// Adds a line of the log, with its time in ms and its number among those of the same ms. Lines
    /// that do not look like "G1 Young Generation GC in 12ms.  G1 Eden Space: 9 -> 0; " count only
    /// for `oldest`.
    pub fn add(&mut self, (ms, number): (i64, i32), line: &str) {
        if ms < self.oldest.0 || ms == self.oldest.0 && number > self.oldest.1 {
            self.oldest = (ms, number);
        }
        let Some((_, rest)) = line.split_once(" GC in ") else {
            return;
        };
        let Some((time, pools)) = rest.split_once("ms.") else {
            return;
        };
        let Ok(time_ms) = time.parse::<u32>() else {
            return;
        };
        self.number += 1;
        self.time_ms += u64::from(time_ms);
        let square = u64::from(time_ms) * u64::from(time_ms);
        self.squares_ms2 = self.squares_ms2.saturating_add(square);
        for pool in pools.split(';') {
            let sizes = pool
                .rsplit_once(": ")
                .and_then(|(_, sizes)| sizes.split_once(" -> "));
            let read = |text: &str| text.trim().parse::<i64>().ok().filter(|size| *size >= 0);
            if let Some((Some(before), Some(after))) = sizes.map(|(b, a)| (read(b), read(a))) {
                self.bytes = self.bytes.saturating_add(before - after);
            }
        }
    }

    /// Subtracts an earlier read of the log; None if lines were lost in between.
    pub fn since(self, before: Self) -> Option<Self> {
        let kept = self.oldest == before.oldest;
        kept.then_some(Self {
            number: self.number.checked_sub(before.number)?,
            time_ms: self.time_ms.checked_sub(before.time_ms)?,
            squares_ms2: self.squares_ms2.checked_sub(before.squares_ms2)?,
            bytes: self.bytes.saturating_sub(before.bytes),
            oldest: self.oldest,
        })
    }

    /// Formats the sums as members of a JSON object, without its braces.
    pub fn json(&self) -> String {
        let (number, time_ms, bytes) = (self.number, self.time_ms, self.bytes);
        let squares = self.squares_ms2;
        format!(
            "\"collections\":{number},\"collection_ms\":{time_ms},\
             \"collection_squares\":{squares},\"collection_bytes\":{bytes}"
        )
    }

    /// Formats mean and standard deviation of the single times likewise, with a comma before each;
    /// empty without a collection. The deviation is that of a population, as cassandra-stress's.
    pub fn statistics(&self) -> String {
        if self.number == 0 {
            return String::new();
        }
        let number = self.number as f64;
        let mean = self.time_ms as f64 / number;
        let variance = self.squares_ms2 as f64 / number - mean * mean;
        let deviation = variance.max(0.0).sqrt();
        format!(",\"collection_mean_ms\":{mean:.3},\"collection_sd_ms\":{deviation:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_has_lost_lines_has_no_difference() {
        let logged = |lines: &[(i64, i32)]| {
            let mut found = Collections::default();
            for at in lines {
                found.add(*at, "Copy GC in 2ms.  ");
            }
            found
        };
        // The newest line of a millisecond is its line 0.
        let before = logged(&[(2, 0), (1, 0), (1, 1)]);
        assert_eq!(logged(&[(3, 0), (2, 0), (1, 0)]).since(before), None);
        assert_eq!(logged(&[(4, 0), (3, 0), (2, 0)]).since(before), None);
        let all = logged(&[(3, 0), (2, 0), (1, 0), (1, 1)]).since(before);
        assert_eq!(all.map(|found| found.number), Some(1));
    }

    #[test]
    fn lines_of_the_inspector_are_added_up() {
        let mut found = Collections::default();
        for (place, line) in (0..).zip([
            "G1 Young Generation GC in 12ms.  G1 Eden Space: 1000 -> 0; G1 Old Gen: 20 -> 320; ",
            "Copy GC in 3ms.  Eden Space: 70 -> 0",
            "G1 Old Generation GC in 0ms.  ",
            "Node is now part of the cluster",
            "x GC in -3ms. y",
            "x GC in 99999999999ms. y",
            "x GC in 3 s",
            "Copy GC in 1ms.  a: -5 -> 0; b: 1 -> z; : -> ",
        ]) {
            found.add((5, place), line);
        }
        let expected = Collections {
            number: 4,
            time_ms: 16,
            squares_ms2: 144 + 9 + 1,
            bytes: 1000 - 300 + 70,
            oldest: (5, 7),
        };
        assert_eq!(found, expected);
        let mut later = found;
        later.add((6, 0), "Copy GC in 2ms.  a: 3 -> 5");
        let since = later.since(found).unwrap();
        assert_eq!((since.number, since.time_ms, since.bytes), (1, 2, -2));
        assert_eq!(since.squares_ms2, 4);
    }

    #[test]
    fn mean_and_deviation_are_those_of_a_population() {
        let mut found = Collections::default();
        assert_eq!(found.statistics(), "");
        for ms in [10, 20, 60] {
            found.add((ms, 0), &format!("Copy GC in {ms}ms.  "));
        }
        // ((20² + 10² + 30²) / 3)^½
        let expected = ",\"collection_mean_ms\":30.000,\"collection_sd_ms\":21.602";
        assert_eq!(found.statistics(), expected);
    }
}
