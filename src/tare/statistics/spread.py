"""Which of two cells is more stable? The ratio of their p10–p90 ranges on common blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tare.registry import Description, Parameter
from tare.statistics.comparison import detectable_change, further, holm
from tare.statistics.intervals import FEWEST_FOR_RANGE, p10_p90
from tare.statistics.resampling import bootstrap_logs, swapped_logs
from tare.statistics.statistic import FloatArray, Statistic

SpreadVerdict = Literal["less stable", "more stable", "as stable", "not decided"]

#: Resamples where the values are few, and where there are many of them.
_RESAMPLES = 4999
_RESAMPLES_OF_MANY = 1999
_MANY = 2000


@dataclass(frozen=True)
class SpreadComparison:
    """What common blocks say about the ratio of two spreads.

    Attributes
    ----------
    first, second : float
        p10–p90 ranges, in the unit of the values.
    ratio : float or None
        second / first; None where the first is 0.
    low, high : float or None
        Bounds of the ratio; None where n is too small.
    confidence : float
        Nominal coverage of this one interval.
    p, p_adjusted : float
        Two-sided, of the ratio being 1; after Holm over the family.
    n : int
        Common blocks.
    verdict : str
        See :func:`judge_spread`.
    more_pairs : int or None
        Where not decided: further blocks after which it will be.
    detectable : float or None
        Smallest relative growth that n blocks would have shown (power 80 %).
    """

    first: float
    second: float
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    p: float
    p_adjusted: float
    n: int
    verdict: SpreadVerdict
    more_pairs: int | None
    detectable: float | None


def judge_spread(
    low: float | None, high: float | None, margin: float, *, different: bool
) -> SpreadVerdict:
    """Put an interval of a ratio of spreads into words.

    ``less stable`` and ``more stable`` need the rejection of equality (adjusted over the
    family) and that the whole interval is not inside the margin; ``as stable`` needs the whole
    interval inside [1 / (1 + margin), 1 + margin].
    """
    if low is None or high is None:
        return "not decided"
    if low > 1 / (1 + margin) and high < 1 + margin:
        return "as stable"
    if different and low > 1:
        return "less stable"
    if different and high < 1:
        return "more stable"
    return "not decided"


def compare_spread(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
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

    Returns
    -------
    SpreadComparison
        As a family of one; see :func:`compare_spreads`.
    """
    a, b = float(p10_p90(first.ravel())), float(p10_p90(second.ravel()))
    if len(first) < FEWEST_FOR_RANGE or a <= 0 or b <= 0:
        return _undecided(a, b, len(first), confidence)
    resamples = _resamples([(first, second)])
    logs = bootstrap_logs(first, second, resamples, seed)
    null = swapped_logs(first, second, resamples, seed)
    return _conclude(logs, null, a, b, len(first), margin, confidence)


def overall_spread(
    pairs: Sequence[tuple[FloatArray, FloatArray]],
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
) -> SpreadComparison:
    """Compare the spreads of many pairs of cells at once, by the geometric mean of their ratios.

    One number for a platform over all workloads and loads: it is known far better than each
    cell's, and says nothing of the single cell. Cells of as many blocks are drawn together.

    Parameters
    ----------
    pairs : sequence of (array, array)
        As for :func:`compare_spread`; pairs of too few blocks or without spread are left out.

    Returns
    -------
    SpreadComparison
        Geometric means of the ranges and of their ratio; n is the smallest number of blocks.
    """
    ranges = [(float(p10_p90(a.ravel())), float(p10_p90(b.ravel()))) for a, b in pairs]
    usable = [
        (pair, ab)
        for pair, ab in zip(pairs, ranges, strict=True)
        if len(pair[0]) >= FEWEST_FOR_RANGE and min(ab) > 0
    ]
    if not usable:
        return _undecided(0.0, 0.0, min((len(a) for a, _ in pairs), default=0), confidence)
    resamples = _resamples([pair for pair, _ in usable])
    logs = np.mean([bootstrap_logs(x, y, resamples, seed) for (x, y), _ in usable], axis=0)
    null = np.mean([swapped_logs(x, y, resamples, seed) for (x, y), _ in usable], axis=0)
    first, second = (float(m) for m in np.exp(np.mean(np.log([ab for _, ab in usable]), axis=0)))
    n = min(len(x) for (x, _), _ in usable)
    return _conclude(logs, null, first, second, n, margin, confidence)


def _undecided(a: float, b: float, n: int, confidence: float) -> SpreadComparison:
    return SpreadComparison(
        first=a,
        second=b,
        ratio=b / a if a > 0 else None,
        low=None,
        high=None,
        confidence=confidence,
        p=1.0,
        p_adjusted=1.0,
        n=n,
        verdict="not decided",
        more_pairs=max(FEWEST_FOR_RANGE - n, 0) or None,
        detectable=None,
    )


def _conclude(
    logs: FloatArray,
    null: FloatArray,
    a: float,
    b: float,
    n: int,
    margin: float,
    confidence: float,
) -> SpreadComparison:
    """Turn replicates of a log-ratio, bootstrapped and under equality, into a comparison."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    log_low, log_high = (float(x) for x in np.quantile(logs, tails))
    p = max(_two_sided(logs), _beyond(null, math.log(b / a)))
    half = (log_high - log_low) / 2
    low, high = math.exp(log_low), math.exp(log_high)
    verdict = judge_spread(low, high, margin, different=p < 1 - confidence)
    return SpreadComparison(
        first=a,
        second=b,
        ratio=b / a,
        low=low,
        high=high,
        confidence=confidence,
        p=p,
        p_adjusted=p,
        n=n,
        verdict=verdict,
        more_pairs=further(n, half, margin) if verdict == "not decided" else None,
        detectable=detectable_change(half, confidence),
    )


def compare_spreads(
    pairs: Sequence[tuple[FloatArray, FloatArray]],
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
) -> list[SpreadComparison]:
    """Compare many pairs of cells that answer one question; Holm holds the error of all."""
    alone = [compare_spread(a, b, margin, confidence, seed + i) for i, (a, b) in enumerate(pairs)]
    return adjust_family(alone, margin)


def adjust_family(
    comparisons: Sequence[SpreadComparison], margin: float = 0.5
) -> list[SpreadComparison]:
    """Judge comparisons anew as one family: at most one in twenty has any false difference."""
    adjusted = holm([c.p for c in comparisons])
    return [_adjust(c, p, margin) for c, p in zip(comparisons, adjusted, strict=True)]


def _adjust(c: SpreadComparison, p_adjusted: float, margin: float) -> SpreadComparison:
    verdict = judge_spread(c.low, c.high, margin, different=p_adjusted < 1 - c.confidence)
    more = c.more_pairs
    if verdict == "not decided" and c.low and c.high:
        more = further(c.n, math.log(c.high / c.low) / 2, margin)
    return replace(c, p_adjusted=p_adjusted, verdict=verdict, more_pairs=more)


def _resamples(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> int:
    many = max(max(a.size, b.size) for a, b in pairs) > _MANY
    return _RESAMPLES_OF_MANY if many else _RESAMPLES


def _two_sided(logs: FloatArray) -> float:
    below = (1 + int(np.sum(logs <= 0))) / (1 + len(logs))
    above = (1 + int(np.sum(logs >= 0))) / (1 + len(logs))
    return min(1.0, 2 * min(below, above))


def _beyond(null: FloatArray, observed: float) -> float:
    if not len(null):
        return 0.0
    return (1 + int(np.sum(np.abs(null) >= abs(observed) - 1e-12))) / (1 + len(null))


UNIT = Statistic(
    description=Description(
        name="spread",
        title="Ratio of two p10–p90 ranges on common blocks, verdict with a margin",
        question="Which is more stable?",
        parameters=(
            Parameter(
                name="margin",
                meaning="relative growth of the range that matters",
                unit="1",
                default=0.5,
                minimum=0.0,
            ),
        ),
        source="Efron and Tibshirani 1993; chosen among four intervals by simulation",
    ),
    methods=(compare_spread, compare_spreads, overall_spread),
)
