"""Which sources one and the same quantity has, which to prefer, and which way is better."""

from __future__ import annotations

#: Best first. The instrument must not be confounded with the platform: what is compared is
#: compared on a source that is common to all of it.
SOURCES = (
    "self",
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

#: Metrics of which more is better; of all others, which take time or room, less is.
RATES = frozenset({"throughput"})
