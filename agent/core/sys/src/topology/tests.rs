use super::*;

const MACHINES: [&str; 5] = [
    "2x10_xeon_e5_2630",
    "2x24_epyc_7451",
    "4x10_xeon_e7_4870",
    "hybrid_i7_1370p",
    "vm_2_cores",
];

/// The files of a recorded machine; tests/data/topology/README.md tells the format.
fn recorded(machine: &str) -> BTreeMap<String, String> {
    let path = format!(
        "{}/../../../tests/data/topology/{machine}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).expect(&path);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once('=').expect("path=content"))
        .flat_map(|(path, content)| {
            expand(path)
                .into_iter()
                .map(move |path| (path, format!("{content}\n")))
        })
        .collect()
}

fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_string()];
    };
    let (numbers, after) = rest.split_once('}').expect("closed brace");
    list(numbers)
        .iter()
        .map(|number| format!("{before}{number}{after}"))
        .collect()
}

fn read(machine: &str, allowed: Option<&BTreeSet<u32>>) -> Topology {
    let files = recorded(machine);
    Topology::read(&|path| files.get(path).cloned(), allowed).unwrap()
}

/// Largest minus smallest number of workers on the parts of one kind.
fn imbalance(topology: &Topology, workers: &[u32], part: fn(&Cpu) -> u32) -> usize {
    let loads = |cpu: &Cpu| {
        let on = |worker: &&u32| part(find(topology, **worker)) == part(cpu);
        workers.iter().filter(on).count()
    };
    let loads: Vec<_> = topology.cpus.iter().map(loads).collect();
    loads.iter().max().unwrap() - loads.iter().min().unwrap()
}

fn find(topology: &Topology, cpu: u32) -> &Cpu {
    topology.cpus.iter().find(|found| found.cpu == cpu).unwrap()
}

#[test]
fn every_order_holds_each_cpu_once() {
    for machine in MACHINES {
        let topology = read(machine, None);
        let all: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.cpu).collect();
        for mut order in [topology.spread, topology.compact] {
            order.sort_unstable();
            assert_eq!(order, all, "{machine}");
        }
    }
}

#[test]
fn no_two_workers_on_one_core_while_another_is_free() {
    for machine in MACHINES {
        let topology = read(machine, None);
        for order in [&topology.spread, &topology.compact] {
            let firsts = &order[..topology.cores];
            let cores: BTreeSet<u32> = firsts
                .iter()
                .map(|cpu| find(&topology, *cpu).core)
                .collect();
            assert_eq!(cores.len(), topology.cores, "{machine}");
        }
    }
}

#[test]
fn spread_keeps_packages_nodes_and_caches_even_at_every_number() {
    let parts: [fn(&Cpu) -> u32; 3] = [
        |cpu| cpu.package,
        |cpu| cpu.node.expect("recorded"),
        |cpu| cpu.cache,
    ];
    for machine in MACHINES {
        let topology = read(machine, None);
        for workers in (1..=topology.cpus.len()).map(|n| &topology.spread[..n]) {
            for part in parts {
                assert!(
                    imbalance(&topology, workers, part) <= 1,
                    "{machine} {workers:?}"
                );
            }
        }
    }
}

#[test]
fn compact_fills_one_cache_before_the_next() {
    for machine in MACHINES {
        let topology = read(machine, None);
        let caches = topology.compact[..topology.cores]
            .iter()
            .map(|cpu| find(&topology, *cpu).cache);
        let mut runs: Vec<u32> = caches.collect();
        runs.dedup();
        assert_eq!(
            runs.len(),
            distinct(&topology.cpus, |cpu| cpu.cache),
            "{machine}"
        );
    }
}

#[test]
fn two_packages_with_smt() {
    let topology = read("2x10_xeon_e5_2630", None);
    assert_eq!((topology.packages, topology.cores), (2, 20));
    assert_eq!(topology.steps, [1, 2, 4, 6, 8, 10, 20, 40]);
    assert_eq!(topology.spread, (0..40).collect::<Vec<_>>());
    let even_then_odd = |from: u32| {
        (from..from + 20)
            .step_by(2)
            .chain((from + 1..from + 20).step_by(2))
    };
    assert_eq!(
        topology.compact,
        even_then_odd(0)
            .chain(even_then_odd(20))
            .collect::<Vec<_>>()
    );
    let siblings = &find(&topology, 27).siblings;
    assert_eq!(siblings, &[7, 27]);
}

#[test]
fn four_packages() {
    let topology = read("4x10_xeon_e7_4870", None);
    assert_eq!((topology.packages, topology.cores), (4, 40));
    assert_eq!(topology.steps, [1, 4, 8, 12, 16, 20, 40]);
    assert_eq!(topology.spread, (0..40).collect::<Vec<_>>());
    let by_package = (0..4).flat_map(|package| (package..40).step_by(4));
    assert_eq!(topology.compact, by_package.collect::<Vec<_>>());
}

#[test]
fn several_caches_a_package() {
    let topology = read("2x24_epyc_7451", None);
    assert_eq!(distinct(&topology.cpus, |cpu| cpu.cache), 16);
    assert_eq!(topology.steps, [1, 2, 4, 6, 8, 10, 20, 48, 96]);
    let expected = [
        [0, 24, 6, 30, 12, 36, 18, 42], // each package, each node
        [3, 27, 9, 33, 15, 39, 21, 45], // their other caches
        [1, 25, 7, 31, 13, 37, 19, 43], // second cores of the first caches
    ];
    assert_eq!(topology.spread[..24], expected.concat());
    assert_eq!(topology.compact[..48], (0..48).collect::<Vec<_>>());
    assert_eq!(topology.compact[48..], (48..96).collect::<Vec<_>>());
}

#[test]
fn fast_cores_before_slow_ones_before_second_threads() {
    let topology = read("hybrid_i7_1370p", None);
    assert_eq!((topology.packages, topology.cores), (1, 14));
    assert_eq!(topology.steps, [1, 2, 3, 4, 5, 14, 20]);
    let expected = [
        vec![0, 2, 4, 6, 8, 10],
        (12..20).collect(),
        vec![1, 3, 5, 7, 9, 11],
    ]
    .concat();
    assert_eq!(topology.spread, expected);
    assert_eq!(topology.compact, expected);
}

#[test]
fn the_kernels_own_division_outranks_frequencies() {
    let mut files = recorded("hybrid_i7_1370p");
    files.retain(|path, _| !path.ends_with("cpuinfo_max_freq"));
    files.insert("devices/cpu_atom/cpus".to_string(), "12-19\n".to_string());
    let usable = (0..20).collect();
    let tiers = tiers(&|path| files.get(path).cloned(), &usable);
    assert!(
        tiers
            .iter()
            .all(|(cpu, tier)| *tier == u32::from(*cpu >= 12)),
        "{tiers:?}"
    );
}

#[test]
fn a_small_virtual_machine() {
    let topology = read("vm_2_cores", None);
    assert_eq!(topology.steps, [1, 2]);
    assert_eq!(topology.spread, [0, 1]);
    assert_eq!(topology.compact, [0, 1]);
}

#[test]
fn only_allowed_cpus_are_used() {
    let allowed = BTreeSet::from([1, 3, 20, 23, 99]);
    let topology = read("2x10_xeon_e5_2630", Some(&allowed));
    assert_eq!((topology.packages, topology.cores), (2, 3));
    assert_eq!(topology.spread, [1, 20, 3, 23]);
    assert_eq!(find(&topology, 23).siblings, [3, 23]);
    assert_eq!(find(&topology, 20).siblings, [20]);
}

#[test]
fn a_sandbox_without_sysfs_has_what_the_scheduler_allows() {
    let allowed = BTreeSet::from([2, 5]);
    let topology = Topology::read(&|_| None, Some(&allowed)).unwrap();
    assert_eq!(topology.spread, [2, 5]);
    assert_eq!(topology.steps, [1, 2]);
    assert!(Topology::read(&|_| None, None).is_err());
}

#[test]
fn this_machine_is_read() {
    let allowed = affinity().unwrap();
    let root = Path::new(LIVE);
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let topology = Topology::read(&read, Some(&allowed)).unwrap();
    assert!(topology.spread.iter().all(|cpu| allowed.contains(cpu)));
    assert!(memory_bytes() > 1 << 20);
}

#[test]
fn lists_of_the_kernel() {
    assert_eq!(list("0-2,48\n"), [0, 1, 2, 48]);
    assert_eq!(list("7"), [7]);
    assert!(list("\n").is_empty());
}
