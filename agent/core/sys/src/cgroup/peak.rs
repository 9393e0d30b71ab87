//! The peak of a group's memory since the launch of what is measured.

use std::fs::{File, OpenOptions};
use std::io::Write;

use crate::cgroup::counters::Counter;
use crate::cgroup::place::{unified, with, Place, Version};

/// Pages that a CPU sets aside for a group at once: the first version's counters take them as
/// used (MEMCG_CHARGE_BATCH).
const BATCH: i64 = 64 * 4096;

/// The highest use of memory above what there was at the beginning.
#[derive(Debug)]
pub struct Peak {
    usage: Counter,
    peak: Counter,
    reset: Option<File>,
    before: i64,
    /// In use when it was opened.
    fresh: i64,
    /// Less than this cannot be told from nothing.
    grain: i64,
}

impl Peak {
    /// Of the group among these that has the controller.
    pub fn open(places: &[Place]) -> Option<Self> {
        let place = with(places, "memory").or_else(|| unified(places))?;
        let (usage, peak, command) = match place.version {
            Version::V1 => ("memory.usage_in_bytes", "memory.max_usage_in_bytes", "0"),
            Version::V2 => ("memory.current", "memory.peak", "reset"),
        };
        let path = |name: &str| place.directory.join(name);
        // What was reset is seen through the file that was written to.
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(path(peak)).ok();
        let reset = file.filter(|mut file| file.write_all(command.as_bytes()).is_ok());
        let peak = match &reset {
            Some(file) => Counter::of(file.try_clone().ok()?, "", 0, 1)?,
            None => Counter::open(path(peak), "", 1)?,
        };
        let usage = Counter::open(path(usage), "", 1)?;
        Some(Self {
            fresh: usage.read()?,
            usage,
            peak,
            reset,
            before: 0,
            grain: match place.version {
                // SAFETY: no preconditions.
                Version::V1 => BATCH * unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) },
                Version::V2 => 1,
            },
        })
    }

    /// Whether it can begin anew; kernels before 6.12 cannot reset a peak of the second version.
    pub fn can_begin(&self) -> bool {
        self.reset.is_some()
    }

    /// In use since it was opened though nothing runs: cached pages of files, for the most part.
    pub fn left(&self) -> i64 {
        self.usage.read().unwrap_or(0) - self.fresh
    }

    /// From here on.
    pub fn begin(&mut self) {
        if let Some(mut reset) = self.reset.as_ref() {
            let _ = reset.write_all(b"0");
        }
        self.before = self.usage.read().unwrap_or(0);
    }

    pub fn read(&self) -> Option<i64> {
        Some(self.peak.read()? - self.before).filter(|peak| *peak >= self.grain)
    }
}
