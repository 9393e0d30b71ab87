"""Verdicts on the ratio of two spreads, however their values were resampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tare.statistics.comparison import detectable_change, further, further_in_family, holm
from tare.statistics.intervals import FEWEST_FOR_RANGE, p10_p90, percentile_bounds
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import tick_of
from tare.verdict import INCONCLUSIVE, Verdict, judge


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
    margin : float
        Relative growth of practical importance, which the verdict speaks of.
    verdict : Verdict
        ``higher``: the second is less stable.
    more_pairs : int or None
        Where inconclusive: further blocks after which it will be.
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
    margin: float
    verdict: Verdict
    more_pairs: int | None
    detectable: float | None


def judged(
    first: float,
    second: float,
    logs: FloatArray,
    p: float,
    n: int,
    margin: float,
    confidence: float,
    slack: float = 0.0,
) -> SpreadComparison:
    """Judge two ranges by resamples of the logarithm of their ratio, as a family of one.

    Parameters
    ----------
    first, second : float
        The ranges, above 0.
    logs : array, shape (resamples,)
        Log-ratios of the resamples, whose percentiles are the interval.
    p : float
        Of the ratio being 1.
    n : int
        What the resamples are of.
    margin, confidence : float
        As for :func:`tare.statistics.spread.compare_spread`.
    slack : float
        By how much the clock leaves the log-ratio open; see :func:`clock_slack`.
    """
    log_low, log_high = percentile_bounds(logs, math.log(second / first), confidence)
    log_low, log_high = log_low - slack, log_high + slack
    if log_low <= 0 <= log_high and slack:
        p = 1.0
    half, low, high = (log_high - log_low) / 2, math.exp(log_low), math.exp(log_high)
    verdict = judge(low, high, margin, different=p < 1 - confidence)
    return SpreadComparison(
        first=first,
        second=second,
        ratio=min(max(second / first, low), high),  # as rounded as its bounds
        low=low,
        high=high,
        confidence=confidence,
        p=p,
        p_adjusted=p,
        n=n,
        margin=margin,
        verdict=verdict,
        more_pairs=further(n, half, margin) if not verdict.conclusive else None,
        detectable=detectable_change(half, confidence),
    )


def clock_slack(first: FloatArray, second: FloatArray) -> float | None:
    """Tell by how much the log-ratio of two ranges is open, each end being known to one tick.

    Parameters
    ----------
    first, second : array
        Values of both, which one clock timed.

    Returns
    -------
    float or None
        None where a range is no wider than the tick, or the tick is not known.
    """
    tick = tick_of(np.concatenate([first.ravel(), second.ravel()]))
    narrowest = min(float(p10_p90(x.ravel())) for x in (first, second))
    if tick is None or tick >= narrowest:
        return None
    return math.log1p(tick / narrowest) - math.log1p(-tick / narrowest)


def undecided(a: float, b: float, n: int, margin: float, confidence: float) -> SpreadComparison:
    """Two ranges of too few values for a verdict, or of which one is 0."""
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
        margin=margin,
        verdict=INCONCLUSIVE,
        more_pairs=max(FEWEST_FOR_RANGE - n, 0) or None,
        detectable=None,
    )


def adjust_spreads(
    comparisons: Sequence[SpreadComparison], margin: float
) -> list[SpreadComparison]:
    """Judge comparisons anew as one family, by Holm."""
    adjusted = holm([c.p for c in comparisons])
    return [_adjust(c, p, margin) for c, p in zip(comparisons, adjusted, strict=True)]


def _adjust(c: SpreadComparison, p_adjusted: float, margin: float) -> SpreadComparison:
    verdict = judge(c.low, c.high, margin, different=p_adjusted < 1 - c.confidence)
    more = c.more_pairs
    if not verdict.conclusive and c.low and c.high:
        more = further(c.n, math.log(c.high / c.low) / 2, margin)
        if not c.low <= 1 <= c.high:
            more = further_in_family(c.n, c.p, p_adjusted, c.confidence) or more
    return replace(c, p_adjusted=p_adjusted, margin=margin, verdict=verdict, more_pairs=more)


def two_sided(logs: FloatArray) -> float:
    """P-value of a ratio of 1, by the resamples on its other side."""
    below = (1 + int(np.sum(logs <= 0))) / (1 + len(logs))
    above = (1 + int(np.sum(logs >= 0))) / (1 + len(logs))
    return min(1.0, 2 * min(below, above))


def beyond(null: FloatArray, observed: float) -> float:
    """P-value of a log-ratio beside those where nothing differs; 0 where there are none."""
    if not len(null):
        return 0.0
    return (1 + int(np.sum(np.abs(null) >= abs(observed) - 1e-12))) / (1 + len(null))
