//! The groups of one worker: one of the second version, in which what it launches is born, and
//! for what only the first version counts, groups in which the worker itself lives.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::cgroup::counters::{Counters, Reading};
use crate::cgroup::leaf;
use crate::cgroup::limit::Limit;
use crate::cgroup::peak::Peak;
use crate::cgroup::place::{places, unified, with, Place, Version};
use crate::clock;

/// The part of a launch's memory that what others left may take in its group.
const CROWDED: u64 = 16;

/// A worker's groups, removed when dropped.
pub struct Group {
    /// Of the worker's launches, in each hierarchy.
    own: Vec<Place>,
    /// Where the agent was when it made them.
    here: Vec<Place>,
    counters: Counters,
    memory: Option<Peak>,
    /// Of memory and of processes.
    limits: [Option<Limit>; 2],
    birth: Option<Birth>,
    /// It was killed. Linux 6.18 compares the count of kills of the group that a process is born
    /// into with that of its parent's group, and so kills all that are born into it later.
    spoiled: Cell<bool>,
    /// Why there is none, or not all of it.
    pub missing: Option<String>,
}

/// Where launched processes are born.
struct Birth {
    directory: File,
    kill: Option<File>,
}

impl Group {
    /// Makes what can be made, and moves this process into the groups of the first version.
    pub fn make(name: &str, worker: &str) -> Self {
        let here = places("self");
        let mut missing = None;
        let mut own = Vec::new();
        let v2 = unified(&here).map(|place| leaf::base(place, name));
        let v1 = [
            with(&here, "memory").cloned(),
            v2.is_none()
                .then(|| with(&here, "cpuacct").cloned())
                .flatten(),
            with(&here, "pids").cloned(),
        ];
        for mut place in v2.into_iter().chain(v1.into_iter().flatten()) {
            place.directory.push(worker);
            match found(&place) {
                Ok(()) => own.push(place),
                Err(error) => missing = Some(format!("{}: {error}", place.directory.display())),
            }
        }
        if here.is_empty() {
            missing = Some("no control groups are mounted here".to_string());
        }
        let mut group = Self {
            counters: Counters::default(),
            memory: None,
            limits: [None, None],
            birth: None,
            spoiled: Cell::new(false),
            own,
            here,
            missing,
        };
        group.open();
        group
    }

    /// Its hierarchies in a word.
    pub fn kind(&self) -> &'static str {
        let has = |version| self.own.iter().any(|place| place.version == version);
        match (has(Version::V1), has(Version::V2)) {
            (true, true) => "hybrid",
            (true, false) => "v1",
            (false, true) => "v2",
            (false, false) => "none",
        }
    }

    pub fn birth(&self) -> Option<BorrowedFd<'_>> {
        self.birth.as_ref().map(|birth| birth.directory.as_fd())
    }

    /// Nothing is in it now: peaks begin here. Of a launch that has so much memory at most.
    pub fn begin(&mut self, memory_bytes: Option<u64>) -> Reading {
        let memory = self.memory.as_ref();
        let fixed = memory.is_some_and(|memory| !memory.can_begin());
        // Pages that go when they are wanted would hide as many of the launch.
        let crowded = memory.zip(memory_bytes).is_some_and(|(memory, most)| {
            u64::try_from(memory.left()).is_ok_and(|left| left > most / CROWDED)
        });
        if self.spoiled.take() || fixed {
            self.renew(unified(&self.own).cloned());
        }
        if crowded {
            let place = with(&self.own, "memory").or_else(|| unified(&self.own));
            self.renew(place.cloned());
        }
        if let Some(memory) = &mut self.memory {
            memory.begin();
        }
        self.read()
    }

    pub fn read(&self) -> Reading {
        let mut reading = self.counters.read();
        if self.birth.is_none() {
            // The worker lives among what it launches.
            reading.cpu_ns = reading.cpu_ns.map(|cpu| cpu - clock::process_cpu());
        }
        reading
    }

    /// Peak above what was there at the beginning.
    pub fn memory_bytes(&self) -> Option<i64> {
        self.memory.as_ref()?.read()
    }

    /// Sets limits of memory and of processes, or none; whether the kernel holds each.
    pub fn limit(&mut self, most: [Option<u64>; 2]) -> [bool; 2] {
        let mut held = [false; 2];
        for ((limit, most), held) in self.limits.iter_mut().zip(most).zip(&mut held) {
            *held = limit.as_mut().is_some_and(|limit| limit.set(most));
        }
        held
    }

    /// Whether limits of memory and of processes were hit since they were set.
    pub fn hit(&self) -> [bool; 2] {
        [0, 1].map(|i| self.limits[i].as_ref().is_some_and(Limit::is_hit))
    }

    /// Kills everything that was born in it; whether it could.
    pub fn kill(&self) -> bool {
        let kill = self.birth.as_ref().and_then(|birth| birth.kill.as_ref());
        self.spoiled.set(kill.is_some());
        kill.is_some_and(|mut kill| kill.write_all(b"1").is_ok())
    }

    fn open(&mut self) {
        self.birth = unified(&self.own).and_then(|place| Birth::open(&place.directory));
        self.memory = Peak::open(&self.own);
        self.limits = [Limit::of_memory(&self.own), Limit::of_processes(&self.own)];
        self.counters = Counters::open(&self.own, &self.here);
    }

    /// Kernels before 6.12 cannot reset a peak of the second version: a new group has a new one,
    /// and no pages of files. In the first version it takes some 20 ms.
    fn renew(&mut self, place: Option<Place>) {
        let Some(place) = place else {
            return;
        };
        self.memory = None;
        self.limits = [None, None];
        if place.version == Version::V1 {
            let _ = place.directory.parent().map(leaf::enter);
        }
        if fs::remove_dir(&place.directory).is_ok() && found(&place).is_ok() {
            self.open();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for place in &self.own {
            if place.version == Version::V1 {
                // A group can only be removed when nobody lives in it.
                let _ = place.directory.parent().map(leaf::enter);
            }
            let _ = fs::remove_dir(&place.directory);
        }
    }
}

impl Birth {
    fn open(directory: &Path) -> Option<Self> {
        Some(Self {
            directory: File::open(directory).ok()?,
            kill: OpenOptions::new()
                .write(true)
                .open(directory.join("cgroup.kill"))
                .ok(),
        })
    }
}

/// Makes the group; of the first version also the home of this process.
fn found(place: &Place) -> io::Result<()> {
    if place.directory.exists() {
        // Left by somebody of the same name who was killed.
        remove_one(&place.directory);
    }
    fs::create_dir(&place.directory)?;
    if place.version == Version::V1 {
        leaf::enter(&place.directory).inspect_err(|_| {
            let _ = fs::remove_dir(&place.directory);
        })?;
    }
    Ok(())
}

/// Removes what a worker left that could not do so itself.
pub fn remove(name: &str, worker: &str) {
    let here = places("self");
    let v2 = unified(&here).map(|place| leaf::base(place, name));
    let v1 = ["memory", "cpuacct", "pids"].map(|controller| with(&here, controller).cloned());
    for place in v2.into_iter().chain(v1.into_iter().flatten()) {
        remove_one(&place.directory.join(worker));
    }
}

/// Kills what is in a group, then removes it.
fn remove_one(group: &PathBuf) {
    for _ in 0..200 {
        match fs::remove_dir(group) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            _ => return,
        }
        let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| line.parse().ok()) {
            // SAFETY: a plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
