"""Calibrations of one experiment compared: by platform, and by period of the quota."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from tare.experiment.results import REFERENCES
from tare.experiment.sweep.document import Calibration, Point
from tare.experiment.sweep.numbers import place
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.statistics.moments import mean_and_sd

#: Effects of a period that are less are not reported.
_LEAST_EFFECT = 0.01


def compared(found: Sequence[Calibration]) -> Iterator[Message]:
    """Compare the speed by platform and by period of the quota, where there are several."""
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


def _platforms(found: Sequence[Calibration]) -> Iterator[Message]:
    """Compare platforms with the reference, over all steps that both have."""

    def key(c: Calibration) -> Hashable:
        return c.workload, c.workers, c.period_s, tuple(c.levels.items())

    for some in _groups(found, key):
        usual = REFERENCES["platform"]
        first = next((c for c in some if c.platform == usual), some[0])
        platforms: list[Message] = []
        for one in some:
            common = _common(one, first)
            if one is first or not common:
                continue
            logs = np.array([math.log(p.rate.value / q.rate.value) for p, q in common])
            mean, _ = mean_and_sd(logs)
            low, high = (None if x is None else math.exp(x) for x in (mean.low, mean.high))
            platforms.append(
                message(
                    "{platform} {ratio} ({steps | counted('common step')})",
                    platform=one.platform,
                    ratio=Ratio(math.exp(mean.estimate), low, high),
                    steps=len(common),
                )
            )
        if platforms:
            yield message(
                "speed vs. {reference}: {platforms | listing}",
                reference=first.platform,
                platforms=platforms,
            )


def _periods(found: Sequence[Calibration]) -> Iterator[Message]:
    """Compare periods with the longest, step by step; name the largest difference."""

    def key(c: Calibration) -> Hashable:
        return c.workload, c.workers, c.platform

    for some in _groups(found, key):
        longest = max(some, key=lambda one: one.period_s)
        others = [one for one in some if one.period_s != longest.period_s]
        if not others:
            continue
        effects = [effect for one in others if (effect := _effect(one, longest)) is not None]
        several = len({c.platform for c in found}) > 1
        yield message(
            "speed vs. a quota period of {longest}{% if platform %} on {platform}{% endif %}"
            ": {% if effects %}{effects | listing}{% else %}no step of a shorter period "
            "differs beyond the intervals{% endif %}",
            longest=Chosen(longest.period_s, "s"),
            platform=longest.platform if several else None,
            effects=effects,
        )


def _effect(one: Calibration, other: Calibration) -> Message | None:
    """Name the largest change beyond both intervals, and how much CPU time arrived."""
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
    delivered, of_longest = point.delivered, there.delivered
    return message(
        "{period} at most {change} {% if faster %}faster{% else %}slower{% endif %}, at "
        "{place}{% if delivered is not none %} ({delivered} CPUs delivered vs. {of_longest})"
        "{% endif %}",
        period=Chosen(one.period_s, "s"),
        change=Amount(abs(change), "share"),
        faster=change > 0,
        place=place(one.place(point), one.axis),
        delivered=delivered.value if delivered and of_longest else None,
        of_longest=of_longest.value if of_longest else None,
    )


def _overlap(one: Point, other: Point) -> bool:
    a, b = one.rate, other.rate
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low <= b.high and b.low <= a.high
