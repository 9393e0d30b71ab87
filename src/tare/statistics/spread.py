"""Which of two cells is more stable? The ratio of their p10–p90 ranges on common blocks.

Source: Efron and Tibshirani 1993; chosen among four intervals by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tare.statistics.intervals import p10_p90
from tare.statistics.resampling import bootstrap_logs, swapped_logs
from tare.statistics.spread_verdict import (
    FINER,
    SpreadComparison,
    adjust_spreads,
    beyond,
    clock_slack,
    fewest,
    judged,
    two_sided,
    undecided,
    widened,
)
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import Tick

__all__ = [
    "Pair", "SpreadComparison", "adjust_spreads", "compare_spread",
    "compare_spreads",
]  # fmt: skip

#: Values of common blocks of two cells, each of shape (n,) or (n, workers).
Pair = tuple[FloatArray, FloatArray]
#: Replicates of a log-ratio: as it is, and as if there were no difference.
Replicates = tuple[FloatArray, FloatArray]

#: Resamples where the values are few, and where there are many of them.
_RESAMPLES = 4999
_RESAMPLES_OF_MANY = 1999
_MANY = 2000
#: Values that are drawn for a family's finer p-value at most.
_MOST_DRAWN = 20_000_000


def compare_spread(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    *,
    dependence: float = 1.0,
    tick: Tick = None,
    resamples: int = _RESAMPLES,
) -> SpreadComparison:
    """Compare the p10–p90 ranges of two cells.

    The interval is the percentile bootstrap of the log-ratio over whole blocks, both cells
    drawn together, so that what disturbed a block disturbs both. Simulated on equal cells
    (n = 20, 40, 80; normal, lognormal, Student's t, 3 % outliers, two modes) it excluded 1 in
    1.0–4.5 % where 5 % are allowed; the basic and the normal bootstrap in up to 41 and 15 %.

    The p-value is the larger of the bootstrap's, whose far tail is too light below 40 blocks,
    and of a permutation test that swaps the median-centred cells within blocks.

    Parameters
    ----------
    first, second : array, shape (n,) or (n, workers)
        Values of common blocks. With workers the range is that of single workers' values, so
        that cells of different numbers of workers can be compared; blocks are still the
        unit that is drawn.
    margin : float
        Relative growth of practical importance.
    confidence : float
        Of the interval.
    seed : int
        Of the resampling.
    dependence : float
        Blocks that are worth one independent block, where tare did not draw them: see
        :func:`tare.statistics.spread_verdict.range_dependence`.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    resamples : int
        Where the blocks are few, and the first so many leave it open whether more would count in
        a large family.

    Returns
    -------
    SpreadComparison
        As a family of one; see :func:`compare_spreads`.
    """

    def drawn(many: int) -> SpreadComparison:
        replicates = _replicate(first, second, seed, dependence, tick, many)
        return _conclude([(first, second)], [replicates], margin, confidence, dependence, tick)

    found = drawn(_RESAMPLES)
    if found.p >= FINER or resamples <= _RESAMPLES or first.size * resamples > _MOST_DRAWN:
        return found
    return drawn(resamples)


def compare_spreads(
    pairs: Sequence[Pair],
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    groups: Sequence[str] = (),
) -> tuple[list[SpreadComparison], dict[str, SpreadComparison]]:
    """Compare many pairs of cells that answer one question; Holm holds the error of all.

    Parameters
    ----------
    pairs : sequence of (array, array)
        As for :func:`compare_spread`.
    groups : sequence of str
        What each pair belongs to, such as a platform; none by default.

    Returns
    -------
    single : list of SpreadComparison
        Pair by pair.
    whole : dict of str to SpreadComparison
        By group, the geometric mean of its pairs' ratios: one number for a platform over all
        workloads and loads. It is known far better than each cell's, and says nothing of the
        single cell. At most ``1 − confidence`` of such families, pairs and groups together,
        have any difference where there is none.
    """
    replicates = [_replicate(a, b, seed) for a, b in pairs]
    single = [
        _conclude([p], [r], margin, confidence) for p, r in zip(pairs, replicates, strict=True)
    ]
    members = {g: [i for i, other in enumerate(groups) if other == g] for g in groups}
    if len(members) == len(pairs):  # each pair is its own whole: to count it twice only costs
        judged = adjust_spreads(single, margin)
        return judged, {g: judged[i] for g, (i,) in members.items()}
    wholes = [
        _conclude([pairs[i] for i in some], [replicates[i] for i in some], margin, confidence)
        for some in members.values()
    ]
    judged = adjust_spreads([*single, *wholes], margin)
    return judged[: len(pairs)], dict(zip(members, judged[len(pairs) :], strict=True))


def _replicate(
    first: FloatArray,
    second: FloatArray,
    seed: int,
    dependence: float = 1.0,
    tick: Tick = None,
    resamples: int = _RESAMPLES,
) -> Replicates | None:
    """Replicate a pair's log-ratio; None where it has too few blocks, or no spread."""
    if len(first) < fewest(dependence) or clock_slack(first, second, tick) is None:
        return None
    if max(first.size, second.size) > _MANY:
        resamples = _RESAMPLES_OF_MANY
    # Pairs of as many blocks are drawn alike, so that what a block does to all cells is kept.
    logs = bootstrap_logs(first, second, resamples, seed)
    return logs, swapped_logs(first, second, resamples, seed)


def _range(values: FloatArray) -> float:
    return float(p10_p90(values.ravel()))


def _conclude(
    pairs: Sequence[Pair],
    replicates: Sequence[Replicates | None],
    margin: float,
    confidence: float,
    dependence: float = 1.0,
    tick: Tick = None,
) -> SpreadComparison:
    """Turn the replicates of one pair, or the mean of several pairs', into a comparison."""
    usable = [(p, r) for p, r in zip(pairs, replicates, strict=True) if r is not None]
    if not usable:
        a, b = (_range(x) for x in pairs[0]) if len(pairs) == 1 else (0.0, 0.0)
        n = min((len(a) for a, _ in pairs), default=0)
        return undecided(a, b, n, margin, confidence, dependence)
    least = min(len(logs) for _, (logs, _) in usable)
    logs = np.mean([logs[:least] for _, (logs, _) in usable], axis=0)
    nulls = [null[:least] for _, (_, null) in usable]
    null = np.mean(nulls, axis=0) if all(len(x) for x in nulls) else np.empty(0)
    ranges = [[_range(a), _range(b)] for (a, b), _ in usable]
    first, second = (float(m) for m in np.exp(np.mean(np.log(ranges), axis=0)))
    observed = math.log(second / first)
    p = max(
        two_sided(widened(logs, observed, dependence)),
        beyond(null, observed / math.sqrt(dependence)),
    )
    n = min(len(a) for (a, _), _ in usable)
    slack = float(np.mean([clock_slack(a, b, tick) or 0.0 for (a, b), _ in usable]))
    return judged(first, second, logs, p, n, margin, confidence, slack, dependence)
