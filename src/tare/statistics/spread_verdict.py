"""Verdicts on the ratio of two spreads, however their values were resampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tare.results.verdict import INCONCLUSIVE, Verdict, judge
from tare.statistics.comparison import detectable_change, further, further_in_family, holm
from tare.statistics.dependence_rows import padded, unpadded_times
from tare.statistics.exact import ranks
from tare.statistics.intervals import FEWEST_FOR_RANGE, p10_p90, percentile_bounds
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import Tick, ticks_of

#: P-value below which a family's finer one is worked out; a larger one counts in no family.
FINER = 0.02
#: Independent values that a range takes at least.
_FEWEST_INDEPENDENT = 10


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
    dependence: float = 1.0,
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
    dependence : float
        Values that are worth one independent value, which widens the interval.
    """
    observed = math.log(second / first)
    log_low, log_high = percentile_bounds(widened(logs, observed, dependence), observed, confidence)
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


def widened(logs: FloatArray, observed: float, dependence: float) -> FloatArray:
    """Move resamples from what was observed by as much as so few independent values would be."""
    if dependence == 1:
        return logs
    return np.asarray(observed + math.sqrt(dependence) * (logs - observed))


def range_dependence(first: FloatArray, second: FloatArray, *, paired: bool) -> float:
    """Count the values that are worth one independent value for the ratio of two ranges.

    What a range owes to each value is looked at: those below its lower end and above its upper end
    lengthen it, by as much as values are rare there. They are less alike than the values: of a
    first-order autoregression by the square of its correlation, which tells more of few values.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        In order of time; where paired, the i-th of both belong together.
    paired : bool

    Returns
    -------
    float
        At least 1.
    """
    some = (first, second)
    owed = [_owed(x) for x in some]
    rows = [(second - first, owed[1] - owed[0])] if paired else list(zip(some, owed, strict=True))
    found = 1.0
    for values, owing in rows:
        level = float(unpadded_times(ranks(values[None]))[0])
        tau = max(float(unpadded_times(owing[None])[0]), (level + 1 / level) / 2)
        # The padding of independent values is not told from chance.
        found = max(found, float(padded(np.array(tau), len(values))) if tau > 1 else 1.0)
    return found


def _owed(values: FloatArray) -> FloatArray:
    """Return what the logarithm of the p10–p90 range owes to each value, but for a constant."""
    below, p10, inside_low, inside_high, p90, above = np.quantile(
        values, [0.05, 0.1, 0.15, 0.85, 0.9, 0.95]
    )
    low, high = (values < p10) * (inside_low - below), (values > p90) * (above - inside_high)
    length = p90 - p10
    # A range of nothing owes nothing to anybody, and has no ratio either.
    return np.asarray((low + high) / length if length > 0 else np.zeros(len(values)))


def clock_slack(first: FloatArray, second: FloatArray, tick: Tick = None) -> float | None:
    """Tell by how much the log-ratio of two ranges is open, each end being known to one tick.

    Parameters
    ----------
    first, second : array
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.

    Returns
    -------
    float or None
        None where a range is no wider than its tick, or a tick is not known.
    """
    some = first.ravel(), second.ravel()
    ticks = ticks_of(*some, tick)
    if ticks is None:
        return None
    open_by = []
    for tick_of_one, values in zip(ticks, some, strict=True):
        length = float(p10_p90(values))
        if not tick_of_one < length:
            return None
        open_by.append(tick_of_one / length)
    a, b = open_by
    return max(math.log1p(a) - math.log1p(-b), math.log1p(b) - math.log1p(-a))


def fewest(dependence: float) -> int:
    """Count the values that a verdict on their range takes."""
    return math.ceil(max(FEWEST_FOR_RANGE, _FEWEST_INDEPENDENT * dependence))


def undecided(
    a: float, b: float, n: int, margin: float, confidence: float, dependence: float = 1.0
) -> SpreadComparison:
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
        more_pairs=max(fewest(dependence) - n, 0) or None,
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
