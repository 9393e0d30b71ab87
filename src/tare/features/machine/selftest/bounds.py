"""What each figure promises: how far off it may be, and why.

``docs/explanation/selftest.md`` has the same as a table, for people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tare.features.machine.selftest.errors import OUTPUT, WHOLE
from tare.results.message import Message, message

_BOUND_TEXTS = {
    "memory_bytes": "the kernel charges pages in batches, and some of its own",
    "minor_faults": "a child's stack, and its exit",
    "voluntary_switches": "a worker that has its byte before it sleeps does not switch",
}

_MS = 1e6
_MIB = float(1 << 20)
#: Between a program's last stamp and its end: it tells what it knows and leaves.
LEAVING_NS = 0.5 * _MS
#: Until who waits for the end has woken.
WAKING_NS = 1.0 * _MS
#: Clocks of different kinds are read one after the other.
READING_NS = 0.1 * _MS


@dataclass(frozen=True)
class Bound:
    """How far a figure may be off.

    Attributes
    ----------
    low, high : float
        Of the median error, in the unit of the metric; infinite where nothing is promised.
    why : Message
        What there is between the figure and what the program can know.
    every : bool
        Whether it holds for every single one, not only for the median.
    """

    low: float
    high: float
    why: Message
    every: bool = False

    @property
    def promises(self) -> bool:
        """Whether anything is promised at all."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def holds(self, error: float) -> bool:
        """Tell whether an error is within."""
        return self.low <= error <= self.high


_NOTHING = Bound(-math.inf, math.inf, message("the agent's own share is in it"))
_EXACT = Bound(0.0, 0.0, message("counted, not timed"), every=True)
#: Metric to a share of the truth, and what comes on top.
_COUNTED = {
    "memory_bytes": (0.02, _MIB),
    "minor_faults": (0.01, 64.0),
    "voluntary_switches": (0.02, 4.0),
}


def bound(metric: str, source: str, part: float, launch: float) -> Bound:
    """Return what a figure promises.

    Parameters
    ----------
    metric, source : str
        The figure.
    part : float
        Of what the program says, that of which a share is promised.
    launch : float
        What of it is the launch, as it is on this platform and with so many side by side: the
        program knows only of another one, so the figure may be off by a whole one.
    """
    if source == "host_cgroup":
        return _NOTHING
    if metric in ("wall_ns", "tree_wall_ns", WHOLE):
        return _time(metric, source, part, launch)
    if metric == "cpu_ns":
        why = message(
            "a launch, and the kernel's work at the end of a process, which the process does "
            "not see"
        )
        return Bound(-launch - READING_NS, launch + LEAVING_NS, why)
    if metric in _COUNTED:
        share, least = _COUNTED[metric]
        why = message(_BOUND_TEXTS[metric])
        return Bound(-share * part - least, share * part + least, why)
    assert metric == OUTPUT or source == "wait", f"nothing is promised of {metric} from {source}"
    return _EXACT


def _time(metric: str, source: str, part: float, launch: float) -> Bound:
    low, high = -launch - READING_NS, launch + LEAVING_NS
    why = message("the kernel stamps within the exec, and after the program has reported and left")
    if source in ("around", "reaped"):
        high += WAKING_NS
        why = message("the launcher's wake-up is in it")
    if metric == WHOLE:
        # The program tells the least of some; others' turns on the CPU only ever lengthen it.
        low, high = low - 0.5 * part, high + 2 * part
        why = message("memory is not released equally fast each time; {why}", why=why)
    return Bound(low, high, why)


#: Sources with a known reason for their error.
KNOWN = ("around", "reaped", "perf_cpu")
