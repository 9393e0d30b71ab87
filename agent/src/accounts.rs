//! From what was read to the figures of an entry.

use std::sync::atomic::Ordering::Acquire;

use crate::cgroup::Reading;
use crate::ledger::{Entry, Figure};
use crate::page::{Head, Slot, Stamp};
use crate::perf_task::Stamps;
use crate::tree::{End, Status, Tree};

/// What is known of the root process; what it used before its exec was its launcher's doing.
pub fn root(entry: &mut Entry, head: &Head, end: &End) {
    let before = |value: &std::sync::atomic::AtomicI64| value.load(Acquire);
    let usage = &end.usage;
    let start = before(&head.before.monotonic_ns);
    entry.set(Figure::StartAround, start);
    entry.set(Figure::EndAround, end.monotonic_ns);
    entry.set(Figure::WallAround, end.monotonic_ns - start);
    let less = |value: i64, atomic| (value - before(atomic)).max(0);
    entry.set(
        Figure::UserRusage,
        less(usage.user_ns, &head.before.user_ns),
    );
    entry.set(
        Figure::SystemRusage,
        less(usage.system_ns, &head.before.system_ns),
    );
    let cpu = usage.user_ns + usage.system_ns;
    entry.set(Figure::CpuRusage, less(cpu, &head.before.cpu_ns));
    entry.set(Figure::MemoryRusage, usage.memory_bytes);
    entry.set(
        Figure::MinorFaults,
        less(usage.minor_faults, &head.before.minor_faults),
    );
    entry.set(
        Figure::MajorFaults,
        less(usage.major_faults, &head.before.major_faults),
    );
    let switches = less(usage.voluntary_switches, &head.before.voluntary_switches);
    entry.set(Figure::VoluntarySwitches, switches);
    let switches = less(
        usage.involuntary_switches,
        &head.before.involuntary_switches,
    );
    entry.set(Figure::InvoluntarySwitches, switches);
    entry.set(
        Figure::Wait,
        end.wait_ns.map(|wait| less(wait, &head.before.wait_ns)),
    );
    entry.set(Figure::Migrations, end.migrations);
    match end.status {
        Status::Exited(code) => entry.set(Figure::ExitCode, i64::from(code)),
        Status::Killed(signal) => entry.set(Figure::Signal, i64::from(signal)),
    }
}

/// What the kernel stamped of the root process itself.
pub fn stamped(entry: &mut Entry, stamps: &Stamps) {
    entry.set(Figure::StartTask, stamps.start_ns);
    entry.set(Figure::EndTask, stamps.end_ns);
    entry.set(Figure::WallTask, stamps.end_ns - stamps.start_ns);
    let waited = entry.get(Figure::EndAround);
    let teardown = waited.map(|waited| (waited - stamps.end_ns).max(0));
    entry.set(Figure::TeardownWait, teardown);
}

/// What is known of the whole tree.
pub fn tree(entry: &mut Entry, head: &Head, tree: &Tree) {
    let start = head.before.monotonic_ns.load(Acquire);
    if tree.empty {
        entry.set(Figure::TreeWallReaped, tree.emptied_ns - start);
    }
    let root = entry.get(Figure::CpuRusage);
    entry.set(Figure::CpuReaped, root.map(|root| root + tree.orphans_ns));
}

/// What was counted for the worker's groups.
pub fn group(entry: &mut Entry, head: &Head, counted: &Reading, memory_bytes: Option<i64>) {
    let launcher = head.before.cpu_ns.load(Acquire);
    entry.set(
        Figure::CpuGroup,
        counted.cpu_ns.map(|cpu| (cpu - launcher).max(0)),
    );
    entry.set(Figure::MemoryGroup, memory_bytes);
    entry.set(Figure::Throttled, counted.throttled_ns);
    entry.set(Figure::PressureGroup, counted.pressure_ns);
    entry.set(
        Figure::OomKilled,
        counted.oom_kills.map(|kills| i64::from(kills > 0)),
    );
}

/// Two sources of the same CPU time should not differ by more than clocks and bookkeeping do.
pub fn disagreement(entry: &Entry) -> Option<String> {
    let group = entry.get(Figure::CpuGroup)?;
    let reaped = entry.get(Figure::CpuReaped)?;
    let allowed = group.max(reaped) / 10 + 5_000_000;
    ((group - reaped).abs() > allowed).then(|| {
        format!(
            "the control group counted {:.1} ms of CPU time, the processes waited for had {:.1} ms",
            group as f64 / 1e6,
            reaped as f64 / 1e6
        )
    })
}

/// A kernel's timed region, by its own stamps.
pub fn timed_region(entry: &mut Entry, slot: &Slot) {
    let [wall, realtime, cpu] = difference(&slot.start, &slot.end);
    entry.set(Figure::KernelWall, wall);
    entry.set(Figure::KernelRealtime, realtime);
    entry.set(Figure::KernelCpu, cpu);
    stamps(entry, slot);
    let skew = slot.skew_ns.load(Acquire);
    entry.set(Figure::StartSkew, (skew > 0).then_some(skew));
}

/// When a kernel's timed region began and ended; whether it did.
pub fn stamps(entry: &mut Entry, slot: &Slot) -> bool {
    let end = slot.end.monotonic_ns.load(Acquire);
    if end > 0 {
        entry.set(Figure::StartSelf, slot.start.monotonic_ns.load(Acquire));
        entry.set(Figure::EndSelf, end);
    }
    end > 0
}

/// From the first to the last stamp of a kernel's process.
pub fn span(entry: &mut Entry, head: &Head) {
    let [wall, _, cpu] = difference(&head.first, &head.last);
    entry.set(Figure::WallSelf, wall);
    entry.set(Figure::CpuSelf, cpu);
}

fn difference(start: &Stamp, end: &Stamp) -> [i64; 3] {
    [
        end.monotonic_ns.load(Acquire) - start.monotonic_ns.load(Acquire),
        end.realtime_ns.load(Acquire) - start.realtime_ns.load(Acquire),
        end.cpu_ns.load(Acquire) - start.cpu_ns.load(Acquire),
    ]
}
