//! Garbage collections of the server, by what its own GCInspector logs of each of them.
//!
//! cassandra-stress asks the same GCInspector over JMX. Here its lines are read by CQL from the table
//! system_views.system_logs, where the server writes its log to this table.

use crate::database::{self, Target};

/// All collections up to a moment, or those between two of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collections {
    pub number: u64,
    pub time_ms: u64,
    /// By how much memory shrank, pools that grew subtracted.
    pub bytes: i64,
    /// Of the oldest line: its time in ms, and its place among those of the same ms, from the
    /// newest. The server drops the oldest line for each new one when its log is full.
    pub oldest: (i64, i32),
}

impl Default for Collections {
    /// None so far, of no line.
    fn default() -> Self {
        Self {
            number: 0,
            time_ms: 0,
            bytes: 0,
            oldest: (i64::MAX, 0),
        }
    }
}

impl Collections {
    /// Adds a line with its time and place. One of GCInspector is such as
    /// "G1 Young Generation GC in 12ms.  G1 Eden Space: 9 -> 0; "; others are no collection.
    pub fn add(&mut self, (ms, place): (i64, i32), line: &str) {
        if ms < self.oldest.0 || ms == self.oldest.0 && place > self.oldest.1 {
            self.oldest = (ms, place);
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

    /// The collections since an earlier moment; None: the log has dropped lines meanwhile.
    pub fn since(self, before: Self) -> Option<Self> {
        let kept = self.oldest == before.oldest;
        kept.then_some(Self {
            number: self.number.checked_sub(before.number)?,
            time_ms: self.time_ms.checked_sub(before.time_ms)?,
            bytes: self.bytes.saturating_sub(before.bytes),
            oldest: self.oldest,
        })
    }

    /// Keys and values of JSON, without the braces.
    pub fn json(&self) -> String {
        let (number, time_ms, bytes) = (self.number, self.time_ms, self.bytes);
        format!("\"collections\":{number},\"collection_ms\":{time_ms},\"collection_bytes\":{bytes}")
    }
}

/// Connects, and reads all collections so far.
pub async fn logged(target: &Target) -> Result<Collections, String> {
    database::Database::connect(target)
        .await?
        .collections()
        .await?
        .ok_or_else(|| "the server does not write its log to system_views.system_logs".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_log_has_dropped_lines_nothing_is_known() {
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
            bytes: 1000 - 300 + 70,
            oldest: (5, 7),
        };
        assert_eq!(found, expected);
        let mut later = found;
        later.add((6, 0), "Copy GC in 2ms.  a: 3 -> 5");
        let since = later.since(found).unwrap();
        assert_eq!((since.number, since.time_ms, since.bytes), (1, 2, -2));
    }
}
