"""Figures that no probe measures: found in its curves, round by round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tare.render.words import text
from tare.results.message import message

if TYPE_CHECKING:
    from tare.statistics.knees import Staircase

#: Points of one metric in one round.
Points = Mapping[tuple[int, ...], float]

#: Figures that are derived from the curve of each probe, with their units.
_FOUND = {
    "memory.latency": {
        **{f"memory.latency.{level}": "ns" for level in ("l1", "l2", "l3", "l4", "dram")},
        **{f"memory.cache.{level}": "bytes" for level in ("l1", "l2", "l3", "l4")},
    },
    "memory.tlb": {"memory.tlb.l1": "1", "memory.tlb.l2": "1"},
}
#: Figures of the two sizes that a brief round measures.
_BRIEF = ("memory.latency.l1", "memory.latency.l2")
#: A knee of one round is that of all where it is no further off than this factor.
_SAME = 1.5


@dataclass
class Found:
    """Figures by name: a value a round, and what is to be known of them."""

    values: dict[str, list[float]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)


def names(probe: str) -> tuple[str, ...]:
    """Return the figures that may be found in the curves of a probe."""
    return tuple(_FOUND.get(probe, ()))


def unit(metric: str) -> str:
    """Return the unit of a figure that is found in a curve."""
    return next(of[metric] for of in _FOUND.values() if metric in of)


def find(probe: str, rounds: Mapping[str, Sequence[Points]]) -> Found:
    """Find figures in the curves of a probe.

    Parameters
    ----------
    probe : str
    rounds : mapping
        Curve to its points in each round; a round may lack some of them.

    Returns
    -------
    Found
        Empty where there is nothing to be found.
    """
    if probe == "memory.latency":
        return _caches([_smallest_pages(points) for points in rounds.get(probe, ())])
    if probe == "memory.tlb":
        return _translations(
            [_smallest_pages(points) for points in rounds.get("memory.tlb.cost", ())],
            [value for points in rounds.get("memory.tlb.latency", ()) for value in points.values()],
        )
    return Found()


def _smallest_pages(points: Points) -> dict[int, float]:
    """Return a curve in the pages that most programs have."""
    smallest = min((at[1:] for at in points), default=())
    return {at[0]: value for at, value in points.items() if at[1:] == smallest}


def _translations(costs: Sequence[Mapping[int, float]], latencies: Sequence[float]) -> Found:
    """Find how many pages each translation buffer holds: where half of the loads miss it.

    What finding a page costs is nothing at first, so that it rises above the least latency.
    """
    found = Found()
    base = min(latencies, default=0.0)
    if base <= 0:
        return found
    rounds = [{pages: base + max(0.0, cost) for pages, cost in one.items()} for one in costs]
    whole = _knees(_merged(rounds))
    own = [stairs for points in rounds if (stairs := _knees(points)) is not None]
    for number, level in enumerate(whole.levels[:2] if whole else (), 1):
        found.values[f"memory.tlb.l{number}"] = _sizes(own, level.size_bytes, len(rounds))
    return found


def _caches(rounds: Sequence[Mapping[int, float]]) -> Found:
    """Find caches in the medians over all rounds, then each of them in every round.

    The plateaus are those of the medians: rounds that lack some sizes still say how long a load
    takes on each.
    """
    merged = _merged(rounds)
    found = Found()
    if len(merged) == len(_BRIEF):
        for name, size in zip(_BRIEF, sorted(merged), strict=True):
            found.values[name] = _within(rounds, size, size)
        return found
    whole = _knees(merged)
    if whole is None:
        return found
    own = [stairs for points in rounds if (stairs := _knees(points)) is not None]
    begins = 0.0
    for number, level in enumerate(whole.levels[:4], 1):
        name = f"memory.cache.l{number}"
        found.values[name] = _sizes(own, level.size_bytes, len(rounds))
        if not level.clear:
            found.remarks[name] = text(
                message("it ends gradually: the effective size of a shared cache")
            )
        if level.latency_ns is not None:
            ends = level.size_interval[0]
            found.values[f"memory.latency.l{number}"] = _within(rounds, begins, ends)
        begins = level.size_interval[1]
    if whole.memory_latency_ns is not None and whole.levels:
        found.values["memory.latency.dram"] = _within(rounds, max(merged) / 2, math.inf)
    order = [name for name in names("memory.latency") if found.values.get(name)]
    found.values = {name: found.values[name] for name in order}
    return found


def _merged(rounds: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the median over rounds of each point."""
    merged: dict[int, list[float]] = {}
    for points in rounds:
        for size, value in points.items():
            merged.setdefault(size, []).append(value)
    return {size: float(np.median(values)) for size, values in merged.items()}


def _knees(points: Mapping[int, float]) -> Staircase | None:
    from tare.statistics.knees import knees

    if not points:
        return None
    stairs = knees(np.array(list(points), dtype=float), np.array(list(points.values())))
    return stairs if stairs.levels else None


def _sizes(own: Sequence[Staircase], size: float, rounds: int) -> list[float]:
    """Return a knee in every round; what few of them show alone, all together have shown."""
    sizes = [one for stairs in own if (one := _nearest(stairs, size)) is not None]
    return [size] if len(sizes) < rounds / 2 else sizes


def _nearest(stairs: Staircase, size: float) -> float | None:
    """Return the knee of a round that is the one at a size."""
    near = min(stairs.levels, key=lambda level: abs(math.log(level.size_bytes / size)))
    same = abs(math.log(near.size_bytes / size)) <= math.log(_SAME)
    return near.size_bytes if same else None


def _within(rounds: Sequence[Mapping[int, float]], begins: float, ends: float) -> list[float]:
    """Return the median of each round's points between two sizes, where it has some."""
    medians = []
    for points in rounds:
        some = [value for size, value in points.items() if begins <= size <= ends]
        if some:
            medians.append(float(np.median(some)))
    return medians
