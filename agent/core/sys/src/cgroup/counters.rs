//! Files of control groups and of /proc that count, kept open and read in place.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::cgroup::place::{unified, with, Place, Version};

/// A number in a file that the kernel writes: one of those after a word.
#[derive(Debug)]
pub struct Counter {
    file: File,
    word: &'static str,
    place: usize,
    unit: i64,
}

impl Counter {
    /// Nothing where there is no such file or no such number in it.
    pub fn open(path: impl AsRef<Path>, word: &'static str, unit: i64) -> Option<Self> {
        Self::nth(path, word, 0, unit)
    }

    /// The same, so many places after the word.
    pub fn nth(
        path: impl AsRef<Path>,
        word: &'static str,
        place: usize,
        unit: i64,
    ) -> Option<Self> {
        let file = File::open(path).ok()?;
        Self::of(file, word, place, unit)
    }

    /// Of a file that is open already.
    pub fn of(file: File, word: &'static str, place: usize, unit: i64) -> Option<Self> {
        let counter = Self {
            file,
            word,
            place,
            unit,
        };
        counter.read()?;
        Some(counter)
    }

    pub fn read(&self) -> Option<i64> {
        let mut text = [0; 2048];
        let length = self.file.read_at(&mut text, 0).ok()?;
        number(&text[..length], self.word.as_bytes(), self.place)?.checked_mul(self.unit)
    }
}

fn number(text: &[u8], word: &[u8], place: usize) -> Option<i64> {
    let found = if word.is_empty() {
        0
    } else {
        text.windows(word.len()).position(|window| window == word)?
    };
    let line = text[found + word.len()..]
        .split(|byte| *byte == b'\n')
        .next()?;
    let field = line
        .split(|byte| *byte == b' ')
        .filter(|field| !field.is_empty())
        .nth(place)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// What is counted for a group at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub cpu_ns: Option<i64>,
    pub throttled_ns: Option<i64>,
    /// Those of a quota, and those of them in which it was used up.
    pub periods: Option<i64>,
    pub throttled_periods: Option<i64>,
    pub pressure_ns: Option<i64>,
    pub oom_kills: Option<i64>,
}

/// The counters of one group, in whatever hierarchies have them.
#[derive(Debug, Default)]
pub struct Counters {
    cpu: Option<Counter>,
    /// A quota may stand at any group around.
    throttled: Vec<Counter>,
    periods: Vec<Counter>,
    throttled_periods: Vec<Counter>,
    pressure: Option<Counter>,
    oom_kills: Option<Counter>,
}

impl Counters {
    /// CPU time and pressure only of a worker's own groups; what limits it, and what becomes of
    /// it then, stands in the groups where the agent is and around them as well.
    pub fn open(own: &[Place], here: &[Place]) -> Self {
        let limits = Self {
            cpu: None,
            pressure: None,
            ..Self::of(here)
        };
        let own = Self::of(own);
        Self {
            throttled: limits.throttled,
            // Nobody asks for these around a launch.
            periods: Vec::new(),
            throttled_periods: Vec::new(),
            oom_kills: own.oom_kills.or(limits.oom_kills),
            ..own
        }
    }

    /// Everything that is counted for the groups at these places.
    pub fn of(places: &[Place]) -> Self {
        let v2 = unified(places).map(|place| place.directory.as_path());
        let v1 = |controller| with(places, controller).map(|place| place.directory.as_path());
        let cpu = v2
            .and_then(|group| Counter::open(group.join("cpu.stat"), "usage_usec ", 1000))
            .or_else(|| Counter::open(v1("cpuacct")?.join("cpuacct.usage"), "", 1));
        let oom_kills = v1("memory")
            .and_then(|group| Counter::open(group.join("memory.oom_control"), "oom_kill ", 1))
            .or_else(|| Counter::open(v2?.join("memory.events"), "oom_kill ", 1));
        let (periods, throttled) = (("nr_periods ", 1), ("nr_throttled ", 1));
        Self {
            cpu,
            throttled: of_quotas(places, ("throttled_time ", 1), ("throttled_usec ", 1000)),
            periods: of_quotas(places, periods, periods),
            throttled_periods: of_quotas(places, throttled, throttled),
            pressure: v2
                .and_then(|group| Counter::open(group.join("cpu.pressure"), "total=", 1000)),
            oom_kills,
        }
    }

    pub fn read(&self) -> Reading {
        let read = |counter: &Option<Counter>| counter.as_ref().and_then(Counter::read);
        let sum = |counters: &[Counter]| {
            let read = counters.iter().filter_map(Counter::read);
            read.reduce(|sum, one| sum + one)
        };
        Reading {
            cpu_ns: read(&self.cpu),
            throttled_ns: sum(&self.throttled),
            periods: sum(&self.periods),
            throttled_periods: sum(&self.throttled_periods),
            pressure_ns: read(&self.pressure),
            oom_kills: read(&self.oom_kills),
        }
    }
}

impl Reading {
    /// What was counted since another reading.
    pub fn since(&self, before: &Self) -> Self {
        let less = |now: Option<i64>, then: Option<i64>| Some(now? - then?);
        Self {
            cpu_ns: less(self.cpu_ns, before.cpu_ns),
            throttled_ns: less(self.throttled_ns, before.throttled_ns),
            periods: less(self.periods, before.periods),
            throttled_periods: less(self.throttled_periods, before.throttled_periods),
            pressure_ns: less(self.pressure_ns, before.pressure_ns),
            oom_kills: less(self.oom_kills, before.oom_kills),
        }
    }
}

/// A number of cpu.stat, with its unit: of the group and of those around it.
fn of_quotas(places: &[Place], v1: (&'static str, i64), v2: (&'static str, i64)) -> Vec<Counter> {
    let controlled = with(places, "cpu").or_else(|| unified(places));
    let Some(place) = controlled else {
        return Vec::new();
    };
    let (word, unit) = match place.version {
        Version::V1 => v1,
        Version::V2 => v2,
    };
    place
        .upwards()
        .filter_map(|group| Counter::open(group.join("cpu.stat"), word, unit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_after_their_word() {
        let stat = b"usage_usec 12\nuser_usec 7\nnr_throttled 0\nthrottled_usec 345\n";
        assert_eq!(number(stat, b"usage_usec ", 0), Some(12));
        assert_eq!(number(stat, b"throttled_usec ", 0), Some(345));
        assert_eq!(number(stat, b"throttled_time ", 0), None);
        assert_eq!(
            number(
                b"some avg10=7.26 avg60=1.86 avg300=0.66 total=18130422\n",
                b"total=",
                0
            ),
            Some(18_130_422)
        );
        assert_eq!(number(b"cpu  1 2 3\ncpu0 4 5 6\n", b"cpu ", 2), Some(3));
        assert_eq!(number(b"cpu  1 2 3\n", b"cpu ", 3), None);
        assert_eq!(number(b"4096\n", b"", 0), Some(4096));
        assert_eq!(number(b"max\n", b"", 0), None);
        assert_eq!(number(b"", b"", 0), None);
        assert_eq!(number(b"99999999999999999999", b"", 0), None);
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        assert!(Counter::open("/nowhere/cpu.stat", "usage_usec ", 1000).is_none());
        let nothing = Reading::default();
        assert_eq!(nothing.since(&nothing).cpu_ns, None);
    }
}
