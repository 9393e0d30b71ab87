//! The instrument measures itself.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Acquire;

use launch::{Image, Program, Surroundings};
use record::{Record, Value};
use stream::{clocks, fact};
use sys::cgroup;
use sys::perf::{self, Event, Target};
use sys::topology;
use sys::tree::Tree;
use sys::watch;

use crate::worker::Worker;

/// What a worker can do here, and what it costs.
pub fn introduce(worker: &mut Worker, id: u64) -> Vec<Record> {
    let mut facts = clocks::facts(id);
    if let Some(overhead) = launch_overhead(worker) {
        let value = Value::Integer(overhead);
        let source = "median from exec to wait of an empty static program";
        facts.push(fact(id, "launch_overhead_ns", value, Some("ns"), source));
    }
    let group = match &worker.group.missing {
        Some(why) => format!("{}: {why}", worker.group.kind()),
        None => worker.group.kind().to_string(),
    };
    facts.push(fact(id, "cgroup", Value::Text(group), None, "mkdir"));
    facts.push(fact(
        id,
        "perf",
        Value::Text(stamps()),
        None,
        "perf_event_open",
    ));
    facts.extend(seen(id));
    facts
}

/// How many CPUs and how much memory there seem to be: programs size themselves by it.
fn seen(id: u64) -> Vec<Record> {
    let visible = std::thread::available_parallelism().ok();
    let affinity = topology::affinity().ok();
    // SAFETY: no preconditions.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let figures = [
        (
            "cpus_visible",
            visible.map(|cpus| cpus.get() as i64),
            "1",
            "sched_getaffinity and quota",
        ),
        (
            "cpus_affinity",
            affinity.map(|cpus| cpus.len() as i64),
            "1",
            "sched_getaffinity, as nproc",
        ),
        (
            "cpus_online",
            Some(online).filter(|cpus| *cpus > 0),
            "1",
            "_SC_NPROCESSORS_ONLN",
        ),
        (
            "memory_total_bytes",
            Some(memory_total()),
            "bytes",
            "MemTotal, or sysinfo without /proc",
        ),
        (
            "memory_limit_bytes",
            cgroup::memory_limit().map(|limit| limit as i64),
            "bytes",
            "smallest limit of the control groups that are to be seen",
        ),
    ];
    figures
        .into_iter()
        .filter_map(|(name, value, unit, source)| {
            Some(fact(id, name, Value::Integer(value?), Some(unit), source))
        })
        .collect()
}

/// What `free` shows; platforms may show less of it than the kernel's own call does.
fn memory_total() -> i64 {
    let told = std::fs::read_to_string("/proc/meminfo").ok();
    let kib = told.as_deref().and_then(|text| {
        let rest = text.strip_prefix("MemTotal:")?;
        rest.split_whitespace().next()?.parse::<i64>().ok()
    });
    kib.map_or(topology::memory_bytes() as i64, |kib| kib * 1024)
}

/// Which events the kernel lets us open.
fn stamps() -> String {
    let switches = false;
    if Event::open(Target::Cpu { cpu: 0, switches }, 1).is_ok() {
        return "cpu".to_string();
    }
    match Event::open(Target::Task { pid: 0, cpu: 0 }, 1) {
        Ok(_) => "task".to_string(),
        Err(error) => perf::refusal(&error),
    }
}

const LAUNCHES: usize = 21;

/// Median time around an empty program: the agent itself, which then does nothing.
fn launch_overhead(worker: &mut Worker) -> Option<i64> {
    let image = Image::Own(worker.binary.try_clone().ok()?);
    let arguments = ["tare-agent", "nothing"];
    let program = Program::new(image, arguments, &BTreeMap::new()).ok()?;
    let mut times: Vec<i64> = (0..LAUNCHES)
        .map(|_| launch(worker, &program))
        .collect::<Option<_>>()?;
    Some(clocks::median(&mut times))
}

fn launch(worker: &mut Worker, program: &Program) -> Option<i64> {
    worker.block.prepare(&[], 0).ok()?;
    worker.group.begin(None);
    let head = worker.block.head();
    head.open_gate();
    let null = worker.null.as_fd();
    let root = program.launch(&Surroundings {
        block: &worker.block,
        marker: *b"tare-nothing\0\0\0\0",
        meeting: None,
        round: None,
        streams: [null; 3],
        group: worker.group.birth(),
    });
    let mut tree = Tree::new(root.ok()?);
    while !tree.empty {
        watch::poll([worker.signals.as_raw_fd()], None).ok()?;
        while worker.signals.take().is_some() {}
        while tree.reap(&worker.written).ok()? {}
    }
    Some(tree.end?.monotonic_ns - head.before.monotonic_ns.load(Acquire))
}
