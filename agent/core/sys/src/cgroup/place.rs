//! Where a process is in each hierarchy of control groups.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a process is in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub version: Version,
    /// Of the first version; the second has all in one hierarchy.
    pub controllers: Vec<String>,
    /// Top of what is mounted: in a container its own group.
    pub mount: PathBuf,
    pub directory: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

/// The places of a process in all hierarchies that are mounted here.
pub fn places(pid: &str) -> Vec<Place> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    parse(
        &read(&format!("/proc/{pid}/cgroup")),
        &read("/proc/self/mountinfo"),
    )
}

/// The place in the hierarchy of the second version.
pub fn unified(places: &[Place]) -> Option<&Place> {
    places.iter().find(|place| place.version == Version::V2)
}

/// The place in the first version's hierarchy with a controller.
pub fn with<'a>(places: &'a [Place], controller: &str) -> Option<&'a Place> {
    places
        .iter()
        .find(|place| place.controllers.iter().any(|own| own == controller))
}

/// Smallest memory limit of this process's control groups.
pub fn memory_limit() -> Option<u64> {
    let places = places("self");
    let place = with(&places, "memory").or_else(|| unified(&places))?;
    let limits = place.upwards().flat_map(|directory| {
        ["memory.max", "memory.limit_in_bytes"].map(|file| {
            let text = fs::read_to_string(directory.join(file)).ok()?;
            text.trim().parse::<u64>().ok()
        })
    });
    // Version 1 writes a number beyond all memory for no limit.
    limits.flatten().filter(|limit| *limit < 1 << 60).min()
}

impl Place {
    /// The group and those around it, up to the top of what is mounted.
    pub fn upwards(&self) -> impl Iterator<Item = &Path> {
        let outside = self.mount.parent();
        self.directory
            .ancestors()
            .take_while(move |directory| Some(*directory) != outside)
    }
}

fn parse(cgroup: &str, mountinfo: &str) -> Vec<Place> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let places = cgroup.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let names: Vec<&str> = fields
            .next()?
            .split(',')
            .filter(|n| !n.is_empty())
            .collect();
        let path = fields.next()?;
        let version = if names.is_empty() {
            Version::V2
        } else {
            Version::V1
        };
        let mount = mounts
            .iter()
            .find(|mount| mount.version == version && names.iter().all(|name| mount.has(name)))?;
        Some(Place {
            version,
            controllers: names.iter().map(ToString::to_string).collect(),
            mount: mount.point.clone(),
            directory: mount.directory(path),
        })
    });
    places.collect()
}

struct Mount {
    version: Version,
    root: PathBuf,
    point: PathBuf,
    options: String,
}

impl Mount {
    /// `36 35 0:33 ROOT POINT options … - TYPE source superoptions`
    fn parse(line: &str) -> Option<Self> {
        let (head, tail) = line.split_once(" - ")?;
        let mut fields = head.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut tail = tail.split(' ');
        let version = match tail.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        Some(Self {
            version,
            root: root.into(),
            point: point.into(),
            options: tail.nth(1)?.to_string(),
        })
    }

    fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    /// A container may see only its own group, at the place of the mount, while the path is still
    /// told from the root of the hierarchy.
    fn directory(&self, path: &str) -> PathBuf {
        match Path::new(path).strip_prefix(&self.root) {
            Ok(rest) => self.point.join(rest),
            Err(_) => self.point.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 22 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw
26 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
27 25 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
28 25 0:25 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
29 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn a_hybrid_machine_has_both_versions() {
        let own = "4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n";
        let places = parse(own, HYBRID);
        let directory = |place: Option<&Place>| place.unwrap().directory.clone();
        assert_eq!(
            directory(with(&places, "memory")),
            Path::new("/sys/fs/cgroup/memory/a/b")
        );
        assert_eq!(
            directory(with(&places, "cpuacct")),
            Path::new("/sys/fs/cgroup/cpu,cpuacct")
        );
        assert_eq!(
            directory(unified(&places)),
            Path::new("/sys/fs/cgroup/unified")
        );
        let upwards: Vec<_> = with(&places, "memory").unwrap().upwards().collect();
        assert_eq!(upwards.len(), 3);
        assert_eq!(upwards[2], Path::new("/sys/fs/cgroup/memory"));
    }

    #[test]
    fn a_container_sees_its_own_group_only() {
        let mounts = "30 29 0:24 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let places = parse("4:memory:/docker/1f\n0::/docker/1f\n", mounts);
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].directory, Path::new("/sys/fs/cgroup/memory"));
        let below = parse("4:memory:/docker/1f/x\n", mounts);
        assert_eq!(below[0].directory, Path::new("/sys/fs/cgroup/memory/x"));
    }

    #[test]
    fn a_namespace_of_groups_begins_at_its_own() {
        let mounts = "30 29 0:24 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        let places = parse("0::/\n", mounts);
        assert_eq!(
            unified(&places).unwrap().directory,
            Path::new("/sys/fs/cgroup")
        );
        assert!(with(&places, "memory").is_none());
    }

    #[test]
    fn without_proc_there_are_no_groups() {
        assert!(parse("", "").is_empty());
    }
}
