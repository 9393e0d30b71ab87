"""Which sources one and the same quantity has, which to prefer, and which way is better."""

from __future__ import annotations

from collections.abc import Iterable

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
    "isolate",
    "qdisc",
)

#: Best first where that is another one: a group is not charged for pages of files that were in
#: memory before, so that of a small program it has less than half.
_FIRST = {"memory_bytes": "rusage"}

#: Metrics of which more is better; of all others, which take time or room, less is.
RATES = frozenset({"throughput"})


def ranked(metric: str, sources: Iterable[str]) -> list[str]:
    """Return the sources that a metric has, best first."""
    order = (_FIRST.get(metric, ""), *SOURCES)
    return sorted(sources, key=lambda s: (order.index(s) if s in order else len(order), s))
