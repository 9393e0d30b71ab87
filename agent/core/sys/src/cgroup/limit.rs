//! What the kernel allows a group: memory, processes.

use std::fs;
use std::path::PathBuf;

use crate::cgroup::counters::Counter;
use crate::cgroup::place::{unified, with, Place, Version};

/// One limit of a group.
#[derive(Debug)]
pub struct Limit {
    /// Those that are set, the decisive one last; those that this kernel does not have are missed.
    files: Vec<PathBuf>,
    /// Of the second version: pages are not to go elsewhere while there is a limit.
    swap: Option<PathBuf>,
    /// As none is written.
    none: &'static str,
    /// What is in use without any launch: the worker's own share, where it lives in the group.
    usage: Option<Counter>,
    /// Of that, what goes when it is wanted.
    cached: Vec<Counter>,
    /// How often it was hit.
    hits: Counter,
    before: i64,
}

impl Limit {
    /// Opens the limit on memory, without swap; none where no controller accounts for memory.
    pub fn of_memory(places: &[Place]) -> Option<Self> {
        let place = with(places, "memory").or_else(|| unified(places))?;
        let directory = &place.directory;
        match place.version {
            Version::V1 => {
                let limit = Self::open(
                    place,
                    &["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"],
                    "-1",
                    Some("memory.usage_in_bytes"),
                    Counter::open(directory.join("memory.oom_control"), "oom_kill ", 1)?,
                )?;
                let stat = |word| Counter::open(directory.join("memory.stat"), word, 1);
                Some(Self {
                    cached: ["\nactive_file ", "\ninactive_file "]
                        .into_iter()
                        .filter_map(stat)
                        .collect(),
                    ..limit
                })
            }
            Version::V2 => {
                let hits = Counter::open(directory.join("memory.events"), "oom_kill ", 1)?;
                let limit = Self::open(place, &["memory.max"], "max", None, hits)?;
                Some(Self {
                    swap: Some(directory.join("memory.swap.max")),
                    ..limit
                })
            }
        }
    }

    /// Of processes and threads.
    pub fn of_processes(places: &[Place]) -> Option<Self> {
        let place = with(places, "pids").or_else(|| unified(places))?;
        let hits = Counter::open(place.directory.join("pids.events"), "max ", 1)?;
        let usage = (place.version == Version::V1).then_some("pids.current");
        Self::open(place, &["pids.max"], "max", usage, hits)
    }

    fn open(
        place: &Place,
        files: &[&str],
        none: &'static str,
        usage: Option<&str>,
        hits: Counter,
    ) -> Option<Self> {
        let path = |name: &str| place.directory.join(name);
        let files: Vec<_> = files.iter().map(|name| path(name)).collect();
        Some(Self {
            files: files.into_iter().filter(|file| file.exists()).collect(),
            swap: None,
            none,
            usage: usage.and_then(|name| Counter::open(path(name), "", 1)),
            cached: Vec::new(),
            hits,
            before: 0,
        })
        .filter(|limit| !limit.files.is_empty())
    }

    /// Allows so much above what is in use, or anything; whether the kernel holds it from now on.
    pub fn set(&mut self, most: Option<u64>) -> bool {
        self.before = self.hits.read().unwrap_or(0);
        if let Some(swap) = &self.swap {
            let _ = fs::write(swap, most.map_or("max", |_| "0"));
        }
        let Some(most) = most else {
            // The wider one first.
            for file in self.files.iter().rev() {
                let _ = fs::write(file, self.none);
            }
            return false;
        };
        let used = self.usage.as_ref().and_then(Counter::read).unwrap_or(0);
        let cached: i64 = self.cached.iter().filter_map(Counter::read).sum();
        let own = used.saturating_sub(cached).max(0);
        let most = most.saturating_add(own as u64).to_string();
        let mut held = false;
        for file in &self.files {
            held |= fs::write(file, &most).is_ok();
        }
        held
    }

    /// Whether a process reached the limit since it was set.
    pub fn is_hit(&self) -> bool {
        self.hits.read().is_some_and(|hits| hits > self.before)
    }
}
