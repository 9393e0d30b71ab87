"""Every number of workers beside the smallest one: shift of the mean, growth of the spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tare.experiment.findings.cells import Cells, Pair
from tare.experiment.results import Results
from tare.statistics.comparison import Comparison, compare, further
from tare.statistics.spread import SpreadComparison, compare_spread

State = Literal["undisturbed", "disturbed", "inconclusive"]


@dataclass(frozen=True)
class Step:
    """One number of workers beside the smallest one."""

    workers: int
    pair: Pair
    shift: Comparison
    growth: SpreadComparison
    state: State
    more: int | None


@dataclass(frozen=True)
class Ladder:
    """All numbers of workers of one workload on one platform, in increasing order.

    Attributes
    ----------
    safe : int
        Largest number up to which every one was shown to be undisturbed.
    ends : Step or None
        The first number that was not shown to be undisturbed; None if all were.
    """

    levels: dict[str, str]
    smallest: int
    steps: tuple[Step, ...]

    @property
    def ends(self) -> Step | None:
        """The first number that was not shown to be undisturbed."""
        return next((s for s in self.steps if s.state != "undisturbed"), None)

    @property
    def safe(self) -> int:
        """Largest number up to which every one was shown to be undisturbed."""
        before = [s.workers for s in self.steps if not self.ends or s.workers < self.ends.workers]
        return max(before, default=self.smallest)


@lru_cache(maxsize=4)
def ladders(cells: Cells) -> list[Ladder]:
    """Compare every number of workers with the smallest one, for each group of other levels.

    The mean is that of trial values; the spread is that of single workers' values, since the
    next job may go to any worker. Averages over workers would shrink as workers are added.
    """
    counts = sorted({int(c.levels["workers"]) for c in cells.all})
    if len(counts) < 2:
        return []
    found: dict[tuple[tuple[str, str], ...], list[Step]] = {}
    for i, pair in enumerate(cells.ratios("workers", str(counts[0]))):
        step = _step(pair, cells.results, i)
        found.setdefault(tuple(pair.levels.items()), []).append(step)
    return [
        Ladder(dict(levels), counts[0], tuple(sorted(steps, key=lambda s: s.workers)))
        for levels, steps in found.items()
    ]


def _step(pair: Pair, results: Results, number: int) -> Step:
    experiment = results.experiment
    shift = compare(*pair.trial_values, experiment.parallel_shift)
    growth = compare_spread(
        *pair.within_sessions, experiment.parallel_growth, seed=experiment.seed + number
    )
    state = _state(shift, growth, experiment.parallel_shift, experiment.parallel_growth)
    more = max(
        _more(shift, experiment.parallel_shift) or 1, _more(growth, experiment.parallel_growth) or 1
    )
    return Step(
        workers=int(pair.level),
        pair=pair,
        shift=shift,
        growth=growth,
        state=state,
        more=more if state == "inconclusive" else None,
    )


def _more(c: Comparison | SpreadComparison, most: float) -> int | None:
    """Further pairs after which the interval is no wider than what is allowed."""
    if c.low is None or c.high is None:
        return c.more_pairs or 1
    return further(c.n, math.log(c.high / c.low) / 2, most)


def _state(
    shift: Comparison, growth: SpreadComparison, most_shift: float, most_growth: float
) -> State:
    if shift.low is None or shift.high is None or growth.low is None or growth.high is None:
        return "inconclusive"
    if beyond(shift, most_shift) or growth.low > 1 + most_growth:
        return "disturbed"
    steady = shift.low > 1 / (1 + most_shift) and shift.high < 1 + most_shift
    return "undisturbed" if steady and growth.high < 1 + most_growth else "inconclusive"


def beyond(shift: Comparison, most: float) -> bool:
    """Whether the whole interval of a shift lies beyond what is allowed."""
    if shift.low is None or shift.high is None:
        return False
    return shift.low > 1 + most or shift.high < 1 / (1 + most)
