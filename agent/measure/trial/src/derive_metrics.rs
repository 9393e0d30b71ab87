//! From what was read to the figures of an entry.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Acquire;

use launch::shared_block::{Before, Head, Slot, Stamp, Stretch};
use sys::cgroup::Reading;
use sys::tree::{End, Status, Tree};

use crate::perf_task::Stamps;
use crate::sample_buffer::{Entry, Figure};

/// What is known of the root process.
pub fn root(entry: &mut Entry, head: &Head, end: &End) {
    let start = head.before.monotonic_ns.load(Acquire);
    entry.set(Figure::StartAround, start);
    entry.set(Figure::EndAround, end.monotonic_ns);
    entry.set(Figure::WallAround, end.monotonic_ns - start);
    entry.set(Figure::MemoryRusage, end.usage.memory_bytes);
    entry.set(Figure::Migrations, end.migrations);
    entry.set(Figure::Written, end.written_bytes);
    match end.status {
        Status::Exited(code) => entry.set(Figure::ExitCode, i64::from(code)),
        Status::Killed(signal) => entry.set(Figure::Signal, i64::from(signal)),
    }
    used(entry, &head.before, end);
}

/// What the root process used up since its exec; until then it was its launcher's doing.
fn used(entry: &mut Entry, before: &Before, end: &End) {
    let mut set = |figure, value: i64, before: &AtomicI64| {
        entry.set(figure, (value - before.load(Acquire)).max(0));
    };
    let usage = &end.usage;
    set(Figure::UserRusage, usage.user_ns, &before.user_ns);
    set(Figure::SystemRusage, usage.system_ns, &before.system_ns);
    set(
        Figure::CpuRusage,
        usage.user_ns + usage.system_ns,
        &before.cpu_ns,
    );
    set(
        Figure::MinorFaults,
        usage.minor_faults,
        &before.minor_faults,
    );
    set(
        Figure::MajorFaults,
        usage.major_faults,
        &before.major_faults,
    );
    let voluntary = &before.voluntary_switches;
    set(
        Figure::VoluntarySwitches,
        usage.voluntary_switches,
        voluntary,
    );
    let involuntary = &before.involuntary_switches;
    set(
        Figure::InvoluntarySwitches,
        usage.involuntary_switches,
        involuntary,
    );
    if let Some(wait_ns) = end.wait_ns {
        set(Figure::Wait, wait_ns, &before.wait_ns);
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
    if let Some([wall, realtime, cpu]) = Stamp::difference(&slot.start, &slot.end) {
        entry.set(Figure::KernelWall, wall);
        entry.set(Figure::KernelRealtime, realtime);
        entry.set(Figure::KernelCpu, cpu);
    }
    stamps(entry, slot);
    entry.set_number(Figure::Residual, slot.residual.get());
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
    if let Some([wall, _, cpu]) = Stamp::difference(&head.first, &head.last) {
        entry.set(Figure::WallSelf, wall);
        entry.set(Figure::CpuSelf, cpu);
    }
}

/// What a kernel did in its window.
pub fn window(entry: &mut Entry, head: &Head) {
    let window = &head.window;
    entry.set_number(Figure::Residual, window.residual.get());
    let Some(stretch) = window.stretch() else {
        return;
    };
    entry.set(Figure::StartSelf, stretch.begin_ns);
    entry.set(Figure::EndSelf, stretch.end_ns);
    entry.set_number(Figure::Throughput, stretch.throughput());
    entry.set(Figure::Window, stretch.wall_ns());
    entry.set(Figure::WindowCpu, stretch.cpu_ns);
    entry.set(Figure::WindowExecutions, stretch.executions);
    entry.set_number(Figure::ClockChain, window.clock_hz.get());
}

/// What was launched in a window.
pub fn launches(entry: &mut Entry, stretch: &Stretch) {
    entry.set_number(Figure::ThroughputAround, stretch.throughput());
    entry.set(Figure::WindowAround, stretch.wall_ns());
    entry.set(Figure::WindowCpuAround, stretch.cpu_ns);
    entry.set(Figure::WindowExecutionsAround, stretch.executions);
}
