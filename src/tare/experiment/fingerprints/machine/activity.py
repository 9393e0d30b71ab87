"""How busy a machine was while it was probed: what tells a busy machine from one that changed."""

from __future__ import annotations

import os
import re
import resource
import time
from dataclasses import dataclass

from tare.experiment.journal import Activity
from tare.host.kernel_files import KernelFiles

#: Places of a line of ``/proc/stat`` that are no work: idle, and waiting for a disk.
_AT_REST = (3, 4)
_STEAL = 7
#: Guest time behind it is contained in user time.
_COUNTED = 8
#: Share of the machine's CPU time that others may take before a take counts as disturbed, and of
#: the time in which tasks may wait for memory or a disk. Waiting for a CPU decides nothing: probes
#: of context switches let processes of their own wait for each other.
LIMIT = 0.1
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_RESOURCES = ("cpu", "memory", "io")


def share(activity: Activity) -> float:
    """Return the share of the machine's CPU time that others had, other machines included."""
    return ((activity.other_cpus or 0.0) + (activity.stolen_cpus or 0.0)) / (activity.cpus or 1)


def others_share(activity: Activity) -> float | None:
    """Return the share of the machine's CPU time that other programs had; None: not known."""
    if activity.other_cpus is None or not activity.cpus:
        return None
    return activity.other_cpus / activity.cpus


def busy(activity: Activity) -> bool:
    """Return whether other programs used the machine enough to affect a fingerprint of it."""
    waited = max(activity.memory_pressure or 0.0, activity.io_pressure or 0.0)
    return max(share(activity), waited) > LIMIT


class Watch:
    """Watches from when it is made until it is asked.

    Parameters
    ----------
    kernel : KernelFiles
        Where the kernel tells.
    """

    def __init__(self, kernel: KernelFiles | None = None) -> None:
        self._kernel = kernel or KernelFiles()
        self._load = self._load_average()
        self._before = self._read()

    def activity(self) -> Activity:
        """Return how busy the machine was since, apart from this process and its children.

        Children count once they were waited for.
        """
        then, now = self._before, self._read()
        seconds = max(now.at_s - then.at_s, 1e-9)
        busy, stolen = (None if a is None or b is None else max(0.0, b - a) for a, b in
                        ((then.busy_s, now.busy_s), (then.stolen_s, now.stolen_s)))  # fmt: skip
        others = None if busy is None else max(0.0, busy - (now.own_s - then.own_s))
        waited = {
            name: min(1.0, (now.waited_s[name] - then.waited_s[name]) / seconds)
            for name in _RESOURCES
            if name in now.waited_s and name in then.waited_s
        }
        return Activity(
            seconds=round(seconds, 3),
            cpus=now.cpus,
            load_average=self._load,
            other_cpus=None if others is None else round(others / seconds, 4),
            stolen_cpus=None if stolen is None else round(stolen / seconds, 4),
            cpu_pressure=_rounded(waited.get("cpu")),
            memory_pressure=_rounded(waited.get("memory")),
            io_pressure=_rounded(waited.get("io")),
        )

    def _load_average(self) -> float | None:
        words = (self._kernel.read("/proc/loadavg") or "").split()
        return float(words[0]) if words else None

    def _read(self) -> _Reading:
        lines = self._kernel.lines("/proc/stat")
        first = next(iter(lines), "")
        ticks = [int(word) for word in first.split()[1 : _COUNTED + 1]]
        worked = sum(n for place, n in enumerate(ticks) if place not in (*_AT_REST, _STEAL))
        # Taken off what all had, and of no use without that.
        whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) if ticks else ()
        own = [resource.getrusage(who) for who in whose]
        return _Reading(
            at_s=time.monotonic(),
            cpus=sum(re.match(r"cpu\d", line) is not None for line in lines) or None,
            busy_s=worked * _TICK_S if ticks else None,
            stolen_s=ticks[_STEAL] * _TICK_S if len(ticks) > _STEAL else None,
            own_s=sum(use.ru_utime + use.ru_stime for use in own),
            waited_s={name: s for name in _RESOURCES if (s := self._waited_s(name)) is not None},
        )

    def _waited_s(self, name: str) -> float | None:
        """Return how long in all some task waited for a resource (PSI)."""
        found = re.search(r"some .*total=(\d+)", self._kernel.read(f"/proc/pressure/{name}") or "")
        return None if found is None else int(found[1]) / 1e6


@dataclass(frozen=True)
class _Reading:
    """What the kernel told at one moment; None: nothing."""

    at_s: float
    cpus: int | None
    busy_s: float | None
    stolen_s: float | None
    own_s: float
    waited_s: dict[str, float]


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
