"""Calibrations of one experiment beside each other: other platforms, other periods of the quota."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from tare.calibration.document import Calibration, Point
from tare.findings.cells import REFERENCES
from tare.render.words import listing
from tare.statistics.moments import mean_and_sd
from tare.units import change_interval, counted, percent

#: Effects of a period that are less are not told.
_LEAST_EFFECT = 0.01


def beside(found: Sequence[Calibration]) -> Iterator[str]:
    """Say what the platform and the period of the quota do, where several were tried."""
    yield from _platforms(found)
    yield from _periods(found)


def _groups(
    found: Sequence[Calibration], key: Callable[[Calibration], Hashable]
) -> list[list[Calibration]]:
    groups: dict[Hashable, list[Calibration]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return [some for some in groups.values() if len(some) > 1]


def _common(one: Calibration, other: Calibration) -> list[tuple[Point, Point]]:
    """Return the points of two at the steps that both have and did something at."""
    known = {p.cpus: p for p in other.points if p.rate.value > 0}
    return [(p, known[p.cpus]) for p in one.points if p.cpus in known and p.rate.value > 0]


def _platforms(found: Sequence[Calibration]) -> Iterator[str]:
    """Compare platforms with the reference, over all steps that both have."""

    def key(c: Calibration) -> Hashable:
        return c.workload, c.workers, c.period_s, tuple(c.levels.items())

    for some in _groups(found, key):
        usual = REFERENCES["platform"]
        first = next((c for c in some if c.platform == usual), some[0])
        told = []
        for one in some:
            common = _common(one, first)
            if one is first or not common:
                continue
            logs = np.array([math.log(p.rate.value / q.rate.value) for p, q in common])
            mean, _ = mean_and_sd(logs)
            low, high = (None if x is None else math.exp(x) for x in (mean.low, mean.high))
            ratio = change_interval(math.exp(mean.estimate), low, high)
            told.append(
                f"the speed on {one.platform} differs by {ratio} over "
                f"{counted(len(common), 'step')}"
            )
        if told:
            yield f"Beside {first.platform}, {listing(told)}."


def _periods(found: Sequence[Calibration]) -> Iterator[str]:
    """Compare periods with the longest, step by step; tell where it matters most."""

    def key(c: Calibration) -> Hashable:
        return c.workload, c.workers, c.platform

    for some in _groups(found, key):
        longest = max(some, key=lambda one: one.period_s)
        others = [one for one in some if one.period_s != longest.period_s]
        if not others:
            continue
        effects = [effect for one in others if (effect := _effect(one, longest)) is not None]
        where = f" on {longest.platform}" if len({c.platform for c in found}) > 1 else ""
        with_it = f"Beside a period of {1000 * longest.period_s:g} ms{where}, "
        nothing = "no step of the shorter ones differs beyond the intervals"
        yield f"{with_it}{listing(effects) or nothing}."


def _effect(one: Calibration, other: Calibration) -> str | None:
    """Tell the largest change beyond both intervals, and how much CPU time arrived."""
    changes = [
        (p.rate.value / q.rate.value - 1, p, q)
        for p, q in _common(one, other)
        if not _overlap(p, q)
    ]
    if not changes:
        return None
    change, point, there = max(changes, key=lambda c: abs(c[0]))
    if abs(change) < _LEAST_EFFECT:
        return None
    arrived = (
        f" ({point.delivered.value:.3g} CPUs arrived, there {there.delivered.value:.3g})"
        if point.delivered is not None and there.delivered is not None
        else ""
    )
    word = "more" if change > 0 else "less"
    return (
        f"one of {1000 * one.period_s:g} ms gives {percent(abs(change))} {word} at "
        f"{point.cpus:g} CPUs, where it matters most{arrived}"
    )


def _overlap(one: Point, other: Point) -> bool:
    a, b = one.rate, other.rate
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low <= b.high and b.low <= a.high
