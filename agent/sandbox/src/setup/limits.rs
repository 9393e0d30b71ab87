//! A control group with limits, in every hierarchy that counts or limits something.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use sys::cgroup::{lists, places, unified, with, Leaf, Place, Version};

use super::spec::Group;

const CONTROLLERS: [&str; 7] = ["cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "io"];
/// The hierarchy in which systemd's programs repeat what they make in that of the second version.
const OF_SYSTEMD: &str = "name=systemd";
/// How long what was killed may take to leave.
const EMPTY: Duration = Duration::from_secs(5);

/// A group that was made, in some hierarchies.
#[derive(Default)]
pub struct Limits {
    made: Vec<Place>,
    /// Where this process went so that groups beside it can have controllers.
    leaf: Option<Leaf>,
}

/// A limit: its controller, and what is written where, by version.
struct Limit {
    controller: &'static str,
    v1: Vec<(&'static str, String)>,
    v2: Vec<(&'static str, String)>,
}

/// There only where the kernel counts swap, or lets a group save up CPU time.
const OPTIONAL: [&str; 4] = [
    "cpu.cfs_burst_us",
    "cpu.max.burst",
    "memory.memsw.limit_in_bytes",
    "memory.swap.max",
];

impl Limits {
    /// Makes the group; what it did make is known also where it fails.
    pub fn make(&mut self, name: &str, group: &Group) -> Result<(), String> {
        let mut here = places("self");
        if here.is_empty() {
            return Err("cannot make a control group: none are to be seen here".to_string());
        }
        let limits = limits(group);
        self.settle(name, &mut here, &limits)?;
        for limit in &limits {
            if holder(&here, limit.controller).is_none() {
                let controller = limit.controller;
                return Err(format!(
                    "cannot limit a control group: none has the controller {controller} here"
                ));
            }
        }
        for place in here.iter().filter(|place| is_of_use(place)) {
            let needed = |limit: &Limit| holder(&here, limit.controller) == Some(place);
            if let Err(why) = self.found(place, group) {
                if limits.iter().any(needed) {
                    return Err(why);
                }
            }
        }
        for limit in &limits {
            let holding = holder(&self.made, limit.controller);
            holding.map_or(Ok(()), |place| limit.write(place))?;
        }
        match self.made.is_empty() {
            true => {
                Err("no control group can be made here: is this root, or systemd's scope?".into())
            }
            false => Ok(()),
        }
    }

    /// Finds where groups of the second version can have what they are to be limited by: below
    /// the own one, or, where others live in that, below the root of all.
    fn settle(&mut self, name: &str, here: &mut [Place], limits: &[Limit]) -> Result<(), String> {
        let elsewhere = |limit: &&Limit| with(here, limit.controller).is_none();
        let needed: Vec<_> = limits.iter().filter(elsewhere).collect();
        let mut unified = here.iter_mut();
        let Some(place) = unified.find(|place| place.version == Version::V2) else {
            return Ok(());
        };
        let mut tried = vec![place.directory.clone()];
        // Of another namespace's root, which is somebody's group, there is a type.
        if !place.mount.join("cgroup.type").exists() {
            tried.push(place.mount.clone());
        }
        let mut refused = None;
        for base in tried {
            let file = base.join("cgroup.controllers");
            if !needed.iter().all(|limit| lists(&file, limit.controller)) {
                continue;
            }
            match Leaf::of(&base, name, &CONTROLLERS) {
                Ok(leaf) => {
                    (self.leaf, place.directory) = (leaf, base);
                    return Ok(());
                }
                Err(error) => refused = refused.or(Some(refusal(&base, &error))),
            }
        }
        // Who needs no controller can be in a group all the same.
        refused.filter(|_| !needed.is_empty()).map_or(Ok(()), Err)
    }

    /// Makes the group in one hierarchy.
    fn found(&mut self, base: &Place, group: &Group) -> Result<(), String> {
        let mut own = base.clone();
        own.directory.push(&group.name);
        let shown = own.directory.display();
        fs::create_dir(&own.directory)
            .map_err(|error| format!("cannot make the control group {shown}: {error}"))?;
        self.made.push(own.clone());
        prepare(&own)
    }

    /// Where a process is written that is to be in the group.
    pub fn doors(&self) -> Result<Vec<File>, String> {
        let doors = self.made.iter().map(|place| {
            let path = place.directory.join("cgroup.procs");
            let door = OpenOptions::new().write(true).open(&path);
            door.map_err(|error| format!("cannot open {}: {error}", path.display()))
        });
        doors.collect()
    }

    /// Whether the kernel killed somebody in it for want of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        let files = ["memory.oom_control", "memory.events"];
        let mut texts = self.made.iter().flat_map(|place| {
            files.map(|file| fs::read_to_string(place.directory.join(file)).unwrap_or_default())
        });
        texts.any(|text| {
            let mut kills = text
                .lines()
                .filter_map(|line| line.strip_prefix("oom_kill "));
            kills.any(|count| count != "0")
        })
    }

    /// Kills what is left in the group and removes it; returns what stays, and why.
    pub fn remove(self) -> Vec<String> {
        let deadline = Instant::now() + EMPTY;
        let stays = self.made.iter().filter_map(|place| {
            let group = &place.directory;
            let error = clear(group, deadline).err()?;
            Some(format!(
                "cannot remove the control group {}: {error}",
                group.display()
            ))
        });
        stays.collect()
    }
}

impl Limit {
    fn write(&self, place: &Place) -> Result<(), String> {
        let values = match place.version {
            Version::V1 => &self.v1,
            Version::V2 => &self.v2,
        };
        for (file, value) in values {
            let path = place.directory.join(file);
            if OPTIONAL.contains(file) && !path.exists() {
                continue;
            }
            fs::write(&path, value)
                .map_err(|error| format!("cannot write {value} to {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn refusal(base: &Path, error: &io::Error) -> String {
    let base = base.display();
    let why = match error.raw_os_error() {
        Some(libc::EBUSY) => "other processes are in it".to_string(),
        _ => error.to_string(),
    };
    format!("cannot hand on what limits the control group {base}: {why}")
}

fn limits(group: &Group) -> Vec<Limit> {
    let period = group.period_us;
    let quota = group.quota_us.map(|quota| Limit {
        controller: "cpu",
        v1: vec![
            ("cpu.cfs_period_us", period.to_string()),
            ("cpu.cfs_quota_us", quota.to_string()),
            ("cpu.cfs_burst_us", "0".to_string()),
        ],
        v2: vec![
            ("cpu.max", format!("{quota} {period}")),
            ("cpu.max.burst", "0".to_string()),
        ],
    });
    let cpus = group.cpus.as_ref().map(|cpus| Limit {
        controller: "cpuset",
        v1: vec![("cpuset.cpus", cpus.clone())],
        v2: vec![("cpuset.cpus", cpus.clone())],
    });
    let memory = group.memory_bytes.map(|bytes| Limit {
        controller: "memory",
        v1: vec![
            ("memory.limit_in_bytes", bytes.to_string()),
            ("memory.memsw.limit_in_bytes", bytes.to_string()),
        ],
        v2: vec![
            ("memory.max", bytes.to_string()),
            ("memory.swap.max", "0".to_string()),
        ],
    });
    [quota, cpus, memory].into_iter().flatten().collect()
}

/// The place in which a controller limits something.
fn holder<'a>(places: &'a [Place], controller: &str) -> Option<&'a Place> {
    let listed = |place: &&Place| lists(&place.directory.join("cgroup.controllers"), controller);
    with(places, controller).or_else(|| unified(places).filter(listed))
}

fn is_of_use(place: &Place) -> bool {
    let known = |name: &String| name == OF_SYSTEMD || CONTROLLERS.contains(&name.as_str());
    place.version == Version::V2 || place.controllers.iter().any(known)
}

/// A cpuset of the first version takes nobody in before it has CPUs and memory.
fn prepare(own: &Place) -> Result<(), String> {
    if !own.controllers.iter().any(|name| name == "cpuset") {
        return Ok(());
    }
    let parent = own.directory.parent().unwrap_or(Path::new("/"));
    for file in ["cpus", "mems"] {
        let effective = fs::read_to_string(parent.join(format!("cpuset.effective_{file}")));
        let value =
            effective.or_else(|_| fs::read_to_string(parent.join(format!("cpuset.{file}"))));
        let path = own.directory.join(format!("cpuset.{file}"));
        value
            .and_then(|value| fs::write(&path, value.trim()))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Empties a group and those below it and removes them, deepest first.
fn clear(group: &Path, deadline: Instant) -> io::Result<()> {
    let _ = OpenOptions::new()
        .write(true)
        .open(group.join("cgroup.kill"))
        .and_then(|mut kill| kill.write_all(b"1"));
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear(&entry.path(), deadline)?;
        }
    }
    loop {
        let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| line.parse().ok()) {
            if pid > 0 {
                // SAFETY: a plain system call.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
            Ok(()) => return Ok(()),
        }
        // Nobody else waits for those that were killed.
        // SAFETY: asks for no status.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_written_for_both_versions_and_none_can_be_saved_up_or_swapped() {
        let group = Group {
            name: "tare".to_string(),
            quota_us: Some(25_000),
            period_us: 100_000,
            cpus: Some("0,2".to_string()),
            memory_bytes: Some(1 << 20),
        };
        let written = |limits: &[Limit], version: Version| -> Vec<String> {
            let files = limits.iter().flat_map(|limit| match version {
                Version::V1 => &limit.v1,
                Version::V2 => &limit.v2,
            });
            files
                .map(|(file, value)| format!("{file} {value}"))
                .collect()
        };
        let all = limits(&group);
        assert_eq!(
            written(&all, Version::V1),
            [
                "cpu.cfs_period_us 100000",
                "cpu.cfs_quota_us 25000",
                "cpu.cfs_burst_us 0",
                "cpuset.cpus 0,2",
                "memory.limit_in_bytes 1048576",
                "memory.memsw.limit_in_bytes 1048576",
            ]
        );
        assert_eq!(
            written(&all, Version::V2),
            [
                "cpu.max 25000 100000",
                "cpu.max.burst 0",
                "cpuset.cpus 0,2",
                "memory.max 1048576",
                "memory.swap.max 0",
            ]
        );
        let none = Group {
            quota_us: None,
            cpus: None,
            memory_bytes: None,
            ..group
        };
        assert!(limits(&none).is_empty());
    }
}
