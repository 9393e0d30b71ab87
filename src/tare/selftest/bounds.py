"""What each figure promises: how far off it may be, and why.

``docs/explanation/selftest.md`` has the same as a table, for people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tare.selftest.errors import OUTPUT, WHOLE

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
    why : str
        What there is between the figure and what the program can know.
    every : bool
        Whether it holds for every single one, not only for the median.
    """

    low: float
    high: float
    why: str
    every: bool = False

    @property
    def promises(self) -> bool:
        """Whether anything is promised at all."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def holds(self, error: float) -> bool:
        """Tell whether an error is within."""
        return self.low <= error <= self.high


_NOTHING = Bound(-math.inf, math.inf, "the agent's own share is in it")
_EXACT = Bound(0.0, 0.0, "counted, not timed", every=True)
#: Metric to a share of the truth, what comes on top, and why.
_COUNTED = {
    "memory_bytes": (0.02, _MIB, "the kernel charges pages by the batch, and some of its own"),
    "minor_faults": (0.01, 64.0, "a child's stack, and the way out"),
    "voluntary_switches": (0.02, 4.0, "who has its byte before it sleeps does not switch"),
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
        why = "a launch, and what the kernel does at the end of a process, which sees it no more"
        return Bound(-launch - READING_NS, launch + LEAVING_NS, why)
    if metric in _COUNTED:
        share, least, why = _COUNTED[metric]
        return Bound(-share * part - least, share * part + least, why)
    assert metric == OUTPUT or source == "wait", f"nothing is promised of {metric} from {source}"
    return _EXACT


def _time(metric: str, source: str, part: float, launch: float) -> Bound:
    low, high = -launch - READING_NS, launch + LEAVING_NS
    why = "the kernel stamps within the exec, and when the program has told and left"
    if source in ("around", "reaped"):
        high += WAKING_NS
        why = "the launcher's waking up is in it"
    if metric == WHOLE:
        # The program tells the least of some; others' turns on the CPU only ever lengthen it.
        low, high = low - 0.5 * part, high + 2 * part
        why = f"memory is not given back equally fast each time; {why}"
    return Bound(low, high, why)


#: Why a source is off, where it is known.
KNOWN = {
    "around": "the launcher reads its clock when it gets a CPU again, and on a machine that has "
    "other things to do that is late; it is used where the kernel does not stamp",
    "reaped": "what nobody waited for is seen when the worker gets a CPU again; it is used where "
    "the kernel does not stamp",
    "perf_cpu": "a process that has told what it knows may still lose its CPU before it ends, on a "
    "machine that has other things to do",
}
