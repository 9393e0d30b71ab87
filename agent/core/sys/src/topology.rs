//! What the machine is made of, from sysfs, and the order in which workers take its CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

/// Where the running machine's sysfs is mounted.
pub const LIVE: &str = "/sys";

#[derive(Debug, Serialize)]
struct Topology {
    cpus: Vec<Cpu>,
    /// Workers as far from each other as can be: over packages, then nodes, then last-level
    /// caches, then cores; a core's second thread only when every core has a worker.
    spread: Vec<u32>,
    /// Workers as close to each other as can be, but still on cores of their own.
    compact: Vec<u32>,
    /// Numbers of workers worth measuring, as STABILITY chose them.
    steps: Vec<usize>,
    cores: usize,
    packages: usize,
    /// Absent for a recorded machine.
    memory_bytes: Option<u64>,
}

/// One hardware thread. Caches and cores are named after their first CPU, since the kernel's
/// own numbers for them repeat from package to package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Cpu {
    cpu: u32,
    package: u32,
    node: Option<u32>,
    /// Last-level cache.
    cache: u32,
    core: u32,
    /// CPUs of the core that may be used, this one included.
    siblings: Vec<u32>,
    /// 0 for the machine's fastest kind of core, 1 for the next.
    tier: u32,
}

/// Print the topology below a sysfs root; of the live machine, only what this process may use.
pub fn run(sysfs: &Path) -> Result<(), String> {
    let read = |path: &str| std::fs::read_to_string(sysfs.join(path)).ok();
    let live = sysfs == Path::new(LIVE);
    let allowed = if live { Some(affinity()?) } else { None };
    let mut topology = Topology::read(&read, allowed.as_ref())?;
    topology.memory_bytes = live.then(memory_bytes);
    println!(
        "{}",
        serde_json::to_string(&topology).map_err(|error| error.to_string())?
    );
    Ok(())
}

/// CPUs that this process may use, in the order in which workers would be spread over them.
pub fn usable() -> Result<Vec<u32>, String> {
    let read = |path: &str| std::fs::read_to_string(Path::new(LIVE).join(path)).ok();
    Ok(Topology::read(&read, Some(&affinity()?))?.spread)
}

impl Topology {
    /// Reads files below the root of a sysfs, by path.
    fn read(
        read: &dyn Fn(&str) -> Option<String>,
        allowed: Option<&BTreeSet<u32>>,
    ) -> Result<Self, String> {
        let online = read("devices/system/cpu/online").map(|text| list(&text));
        let usable: BTreeSet<u32> = match (online, allowed) {
            (Some(online), Some(allowed)) => online
                .into_iter()
                .filter(|cpu| allowed.contains(cpu))
                .collect(),
            (Some(online), None) => online.into_iter().collect(),
            // Sandboxes hide sysfs; what the scheduler allows is then all there is to know.
            (None, Some(allowed)) => allowed.clone(),
            (None, None) => BTreeSet::new(),
        };
        if usable.is_empty() {
            return Err("no CPU is listed in devices/system/cpu/online".to_string());
        }
        let nodes = nodes(read);
        let tiers = tiers(read, &usable);
        let cpus: Vec<Cpu> = usable
            .iter()
            .map(|&cpu| Cpu {
                tier: tiers[&cpu],
                node: nodes.get(&cpu).copied(),
                ..Cpu::read(read, cpu, &usable)
            })
            .collect();
        let packages = distinct(&cpus, |cpu| cpu.package);
        let cores = distinct(&cpus, |cpu| cpu.core);
        Ok(Self {
            spread: spread(&cpus),
            compact: compact(&cpus),
            steps: steps(packages, cores, cpus.len()),
            cores,
            packages,
            memory_bytes: None,
            cpus,
        })
    }
}

impl Cpu {
    fn read(read: &dyn Fn(&str) -> Option<String>, cpu: u32, usable: &BTreeSet<u32>) -> Self {
        let file = |name: &str| read(&format!("devices/system/cpu/cpu{cpu}/{name}"));
        let siblings = file("topology/core_cpus_list")
            .or_else(|| file("topology/thread_siblings_list"))
            .map_or(vec![cpu], |text| list(&text));
        // Some kernels say -1 where there is only one.
        let package = file("topology/physical_package_id")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        let first = |cpus: Vec<u32>| cpus.into_iter().min();
        let last_level = (0..)
            .map_while(|index| {
                let level: u32 = file(&format!("cache/index{index}/level"))?
                    .trim()
                    .parse()
                    .ok()?;
                Some((level, file(&format!("cache/index{index}/shared_cpu_list"))?))
            })
            .max_by_key(|(level, _)| *level)
            .map(|(_, shared)| list(&shared))
            // A guest that is told nothing of caches: packages are the best guess.
            .or_else(|| file("topology/core_siblings_list").map(|text| list(&text)));
        Self {
            cpu,
            package,
            node: None,
            cache: last_level.and_then(first).unwrap_or(cpu),
            core: first(siblings.clone()).unwrap_or(cpu),
            siblings: siblings
                .into_iter()
                .filter(|other| usable.contains(other))
                .collect(),
            tier: 0,
        }
    }
}

/// NUMA node of each CPU.
fn nodes(read: &dyn Fn(&str) -> Option<String>) -> BTreeMap<u32, u32> {
    let nodes = read("devices/system/node/online").map_or(Vec::new(), |text| list(&text));
    let cpus = |node| read(&format!("devices/system/node/node{node}/cpulist"));
    nodes
        .into_iter()
        .filter_map(|node| Some((node, list(&cpus(node)?))))
        .flat_map(|(node, cpus)| cpus.into_iter().map(move |cpu| (cpu, node)))
        .collect()
}

/// Kind of core of each CPU, fastest first: by the kernel's own division where it makes one,
/// and by steps of a fifth in capacity or frequency, so that the few percent between cores of
/// one kind (as with "favoured" cores) do not part them.
fn tiers(read: &dyn Fn(&str) -> Option<String>, usable: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let slow = read("devices/cpu_atom/cpus").map_or(Vec::new(), |text| list(&text));
    let speed = |cpu: u32| -> f64 {
        ["cpu_capacity", "cpufreq/cpuinfo_max_freq"]
            .iter()
            .find_map(|name| read(&format!("devices/system/cpu/cpu{cpu}/{name}")))
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0.0)
    };
    let mut ordered: Vec<_> = usable
        .iter()
        .map(|&cpu| (slow.contains(&cpu), speed(cpu), cpu))
        .collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut tier = 0;
    let (mut kind, mut fastest, _) = ordered[0];
    ordered
        .into_iter()
        .map(|(slow, speed, cpu)| {
            if slow != kind || speed < 0.8 * fastest {
                tier += 1;
                (kind, fastest) = (slow, speed);
            }
            (cpu, tier)
        })
        .collect()
}

/// Greedy, so that the first n of any number of workers are where n workers would be.
fn spread(cpus: &[Cpu]) -> Vec<u32> {
    let mut left: Vec<&Cpu> = cpus.iter().collect();
    let mut taken = Vec::with_capacity(left.len());
    let [mut cores, mut packages, mut nodes, mut caches] = [(); 4].map(|()| Load::default());
    while !left.is_empty() {
        let next = (0..left.len())
            .min_by_key(|&index| {
                let cpu = left[index];
                (
                    cores.of(cpu.core),
                    cpu.tier,
                    packages.of(cpu.package),
                    nodes.of(cpu.node.unwrap_or(0)),
                    caches.of(cpu.cache),
                    cpu.cpu,
                )
            })
            .expect("some are left");
        let cpu = left.remove(next);
        cores.add(cpu.core);
        packages.add(cpu.package);
        nodes.add(cpu.node.unwrap_or(0));
        caches.add(cpu.cache);
        taken.push(cpu.cpu);
    }
    taken
}

/// Workers on each part of one kind.
#[derive(Default)]
struct Load(BTreeMap<u32, usize>);

impl Load {
    fn of(&self, part: u32) -> usize {
        self.0.get(&part).copied().unwrap_or(0)
    }

    fn add(&mut self, part: u32) {
        *self.0.entry(part).or_default() += 1;
    }
}

/// One package, node and cache after the other; first threads of all cores before second ones.
fn compact(cpus: &[Cpu]) -> Vec<u32> {
    let mut ordered: Vec<&Cpu> = cpus.iter().collect();
    ordered.sort_by_key(|cpu| {
        let thread = cpu
            .siblings
            .iter()
            .filter(|other| **other < cpu.cpu)
            .count();
        (thread, cpu.tier, cpu.package, cpu.node, cpu.cache, cpu.cpu)
    });
    ordered.into_iter().map(|cpu| cpu.cpu).collect()
}

/// STABILITY's choice, for any machine: one worker, one to five per package and then twice as
/// many again while half the cores stay free, one per core, one per hardware thread.
fn steps(packages: usize, cores: usize, threads: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(10), |per_package| Some(per_package * 2));
    let within = (1..=5)
        .chain(doubled)
        .map(|per_package| per_package * packages)
        .take_while(|workers| *workers <= cores / 2);
    let steps: BTreeSet<usize> = within.chain([1, packages, cores, threads]).collect();
    steps.into_iter().collect()
}

fn distinct(cpus: &[Cpu], part: fn(&Cpu) -> u32) -> usize {
    cpus.iter().map(part).collect::<BTreeSet<_>>().len()
}

/// The kernel's way of writing sets of numbers: `0-2,48`.
pub fn list(text: &str) -> Vec<u32> {
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

/// CPUs that this process may use.
pub fn affinity() -> Result<BTreeSet<u32>, String> {
    // Larger than libc's own set, which the kernel refuses on machines beyond 1024 CPUs.
    let mut mask = [0_u64; 256];
    // SAFETY: the kernel writes no more than the size that it is told.
    let result = unsafe {
        libc::sched_getaffinity(0, std::mem::size_of_val(&mask), mask.as_mut_ptr().cast())
    };
    if result < 0 {
        return Err(format!(
            "sched_getaffinity: {}",
            std::io::Error::last_os_error()
        ));
    }
    let cpus =
        (0..mask.len() as u32 * 64).filter(|cpu| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1);
    Ok(cpus.collect())
}

/// The memory that the kernel manages. Not the sum over sysfs's nodes: that leaves out what
/// was plugged in after boot on the machine that this was written on.
pub fn memory_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions.
    unsafe {
        (libc::sysconf(libc::_SC_PHYS_PAGES) as u64)
            .saturating_mul(libc::sysconf(libc::_SC_PAGESIZE) as u64)
    }
}

#[cfg(test)]
mod tests;
