//! Garbage collections of the server, by what its own GCInspector logs of each of them.
//!
//! cassandra-stress asks the same GCInspector over JMX. Here its lines are read by CQL from the table
//! system_views.system_logs, where the server writes its log to this table.

use std::ops::Sub;

use crate::database::{self, Target};

/// All collections up to a moment, or those between two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Collections {
    pub number: u64,
    pub time_ms: u64,
    /// By how much memory shrank, pools that grew subtracted.
    pub bytes: i64,
}

impl Collections {
    /// Adds a line of GCInspector, such as "G1 Young Generation GC in 12ms.  G1 Eden Space: 9 -> 0; ".
    /// Other lines change nothing.
    pub fn add(&mut self, line: &str) {
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

    /// Keys and values of JSON, without the braces.
    pub fn json(&self) -> String {
        let (number, time_ms, bytes) = (self.number, self.time_ms, self.bytes);
        format!("\"collections\":{number},\"collection_ms\":{time_ms},\"collection_bytes\":{bytes}")
    }
}

impl Sub for Collections {
    type Output = Self;

    /// The collections since an earlier moment; none where the log has dropped some meanwhile.
    fn sub(self, before: Self) -> Self {
        Self {
            number: self.number.saturating_sub(before.number),
            time_ms: self.time_ms.saturating_sub(before.time_ms),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
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
    fn lines_of_the_inspector_are_added_up() {
        let mut found = Collections::default();
        for line in [
            "G1 Young Generation GC in 12ms.  G1 Eden Space: 1000 -> 0; G1 Old Gen: 20 -> 320; ",
            "Copy GC in 3ms.  Eden Space: 70 -> 0",
            "G1 Old Generation GC in 0ms.  ",
            "Node is now part of the cluster",
            "x GC in -3ms. y",
            "x GC in 99999999999ms. y",
            "x GC in 3 s",
            "Copy GC in 1ms.  a: -5 -> 0; b: 1 -> z; : -> ",
        ] {
            found.add(line);
        }
        let expected = Collections {
            number: 4,
            time_ms: 16,
            bytes: 1000 - 300 + 70,
        };
        assert_eq!(found, expected);
        assert_eq!(found - expected, Collections::default());
    }
}
