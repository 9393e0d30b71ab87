"""Medians of repetitions whose initial budget falls: tight and right? CLOUDNET's Figure 19."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tare.experiment.findings.network_cells import Ladder, Level, Networks, carried
from tare.statistics.depletion import BOUND
from tare.statistics.intervals import Interval, quantile_interval


@dataclass(frozen=True, eq=False)
class Pooled:
    """All trials of one ladder from the largest budget down to that of a level.

    Attributes
    ----------
    median : Interval
        Of these trials; no bounds where there are too few.
    truth : float
        Median of the trials at the largest budget alone.
    """

    ladder: Ladder
    level: Level
    median: Interval
    truth: float

    @property
    def is_tight(self) -> bool:
        """Whether the interval is known and within 10 % of its median."""
        middle, low, high = self.median.estimate, self.median.low, self.median.high
        if low is None or high is None:
            return False
        return (1 - BOUND) * middle <= low and high <= (1 + BOUND) * middle

    @property
    def is_right(self) -> bool:
        """Whether the median is within 10 % of that at the largest budget."""
        return abs(self.median.estimate / self.truth - 1) <= BOUND


@lru_cache(maxsize=4)
def pooled(networks: Networks) -> tuple[Pooled, ...]:
    """Pool trials by falling budget; empty without two budgets, or where trials share one."""
    if carried(networks.results):
        return ()
    found = []
    for ladder in networks.ladders:
        rungs = [rung for rung in ladder.buckets if rung.n and not rung.level.uneven]
        if len(rungs) < 2:
            continue
        truth = float(np.median(rungs[0].values))
        for k, rung in enumerate(rungs):
            values = np.concatenate([r.values for r in rungs[: k + 1]])
            found.append(Pooled(ladder, rung.level, quantile_interval(values, 0.5), truth))
    return tuple(found) if all(one.truth > 0 for one in found) else ()


def by_level(networks: Networks) -> dict[Level, list[Pooled]]:
    """Return the pooled medians of all ladders at each budget, from the largest on."""
    levels: dict[Level, list[Pooled]] = {}
    for one in pooled(networks):
        levels.setdefault(one.level, []).append(one)
    return dict(sorted(levels.items(), key=lambda item: -(item[0].budget_bits or 0)))


def counts(some: Sequence[Pooled]) -> tuple[int, int]:
    """Count wrong medians, and right ones whose interval is too wide."""
    wrong = sum(not one.is_right for one in some)
    return wrong, sum(one.is_right and not one.is_tight for one in some)
