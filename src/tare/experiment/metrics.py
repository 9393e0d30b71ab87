"""Which sources one and the same quantity has, which to prefer, and which way is better."""

from __future__ import annotations

from collections.abc import Iterable

#: Where a value is from that the program itself printed.
PRINTED = "output"
#: And where those of an application that serves: its load generator, and what starts services.
DRIVER, SUPERVISED = "driver", "supervise"
#: Source of values that a file of another tool has.
FILE = "file"
#: Of services on each host: the processes of their instances.
OF_HOSTS = "hosts"
#: What a distributed job left of its tasks.
TASKS = "tasks"
#: What who uses a workload waits for, where some are commands and some serve: an answer may be
#: about both. Its values are those of :func:`waited_for`, on a source of each workload's own.
TIME, OF_WORKLOAD = "time_ns", "workload"
#: Wall time of a command; response time of an application that serves.
COMMANDS_TIME, SERVICES_TIME = "wall_ns", "response_mean_ns"

#: What isolate reports of a program that it starts.
ISOLATE = "isolate"

#: Best first. The instrument must not be confounded with the platform: what is compared is
#: compared on a source that is common to all of it.
SOURCES = (
    "self",
    # Teardown included: what who waits for a command waits for.
    "switch",
    "perf_cpu",
    "perf_task",
    "cgroup",
    "reaped",
    "rusage",
    # The agent's own share is in it.
    "host_cgroup",
    "around",
    PRINTED,
    DRIVER,
    OF_WORKLOAD,
    SUPERVISED,
    OF_HOSTS,
    TASKS,
    ISOLATE,
    "qdisc",
)

#: Best first where that is another one: a group is not charged for pages of files that were in
#: memory before, so that of a small program it has less than half.
_FIRST = {"memory_bytes": "rusage"}

#: Metrics of which more is better; of all others, which take time or room, less is.
RATES = frozenset({"throughput", "request_throughput", "request_rate"})

#: What isolate's file has of times, and what the kernel tells of memory.
_ISOLATE_NS, _MEMORY_BYTES = 1e6, 1024.0


def waited_for(metric: str, *, serves: bool) -> str:
    """Return the metric that stands for another one in the trials of a workload."""
    if metric != TIME:
        return metric
    return SERVICES_TIME if serves else COMMANDS_TIME


def ranked(metric: str, sources: Iterable[str]) -> list[str]:
    """Return the sources that a metric has, best first."""
    order = (_FIRST.get(metric, ""), *SOURCES)
    return sorted(sources, key=lambda s: (order.index(s) if s in order else len(order), s))


def of_workload(metric: str, means: dict[str, float]) -> dict[str, float]:
    """Return values by source as they are known of a metric: of ``TIME`` the best one alone."""
    if metric != TIME or not means:
        return means
    return {OF_WORKLOAD: means[ranked(metric, means)[0]]}


def tick(metric: str, source: str | None = None) -> float | None:
    """Tell how coarsely a metric is recorded, in its unit; None where only its values tell.

    Counts are exact. CPU time is counted by what counts it on the platform, some by 10 ms.
    """
    if source in (PRINTED, OF_WORKLOAD, FILE):
        return None
    if metric.endswith("_ns"):
        if "cpu" in metric:
            return _ISOLATE_NS if source == ISOLATE else None
        return _ISOLATE_NS if source == ISOLATE else 1.0
    if metric.endswith("_bytes"):
        return _MEMORY_BYTES if "memory" in metric else 1.0
    return None if metric in RATES or metric.endswith("_hz") else 0.0
