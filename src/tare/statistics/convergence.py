"""Do intervals shrink as runs are added in order of time? Where they do not, more runs are vain.

Source: CLOUDNET, Figure 19; Smirnov 1939.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.statistics.intervals import quantile_interval, quantile_ranks, trials_needed
from tare.statistics.statistic import FloatArray
from tare.statistics.subsets import IntArray

#: False alarms allowed on exchangeable runs, shared by the two tests.
_ALARMS = 0.05
#: Prefixes that a picture needs.
_PREFIXES = 64


@dataclass(frozen=True)
class Curve:
    """What intervals become as runs are added.

    Attributes
    ----------
    s : int array, shape (k,)
        Numbers of runs, ascending.
    low, high : array, shape (k,)
        Bounds of the quantile's interval with s runs.
    median : array, shape (k,)
        The quantile itself with s runs.
    """

    s: IntArray
    low: FloatArray
    high: FloatArray
    median: FloatArray


def prefixes(
    values: FloatArray, confidence: float = 0.95, q: float = 0.5, points: int = _PREFIXES
) -> Curve:
    """Give the interval of the first s runs as they came, for growing s.

    Beside the expected interval of s runs drawn at random, this shows what CLOUDNET's Figure 19
    does: runs that use something up have intervals that widen, and early ones that are wrong.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    confidence, q : float
        Of the order-statistic interval, and the quantile.
    points : int
        At most so many sizes, evenly spaced in the logarithm.

    Returns
    -------
    Curve
        Empty where n is too small for an interval.
    """
    n, least = len(values), trials_needed(q, confidence)
    if n < least:
        nothing = np.empty(0)
        return Curve(np.empty(0, dtype=np.int64), nothing, nothing, nothing)
    sizes = np.unique(np.geomspace(least, n, points).round().astype(int))
    found = [quantile_interval(values[:s], q, confidence) for s in sizes]
    low, high, middle = (
        np.array([getattr(x, name) for x in found], dtype=float)
        for name in ("low", "high", "estimate")
    )
    return Curve(sizes, low, high, middle)


def converges(
    values: FloatArray, precision: float = 0.01, confidence: float = 0.95, q: float = 0.5
) -> bool:
    """Tell whether intervals shrink about one quantile as runs are added in order of time.

    The first k runs are a random subset of all n if order means nothing. Then the share of them
    that lies below the quantile of all, and the share that lies near it, stay close to the shares
    in all n, by known odds: were the first k below it more often than the interval of k runs
    allows for, their interval would be wrong; were they nearer to it, the interval would widen
    later. Both are Kolmogorov–Smirnov tests of the times at which these values came. A deviation
    counts only where it matters: the quantile still moved by more than the precision after the
    first quarter of the runs, or the interval has not become narrower since then.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        Movement of the quantile, relative to it, that does not matter.
    confidence, q : float
        Of the order-statistic interval, and the quantile.

    Returns
    -------
    bool
        False in at most 5 % of exchangeable series. True also where n is too small to tell.

    References
    ----------
    CLOUDNET, Figure 19; Hodges, The significance probability of the Smirnov two-sample test,
    1958.
    """
    if len(values) < trials_needed(q, confidence) or np.ptp(values) == 0:
        return True
    lower, middle, upper = np.quantile(values, [q / 2, q, (1 + q) / 2])
    below = values <= middle
    if below.all():
        below = values < middle
    near = (values >= lower) & (values <= upper)
    if min(_timing_p(below), _timing_p(near)) > _ALARMS / 2:
        return True
    return not _unsettled(values, precision, confidence, q)


def _timing_p(marked: np.ndarray) -> float:
    """P of the marked values having come at random times (limiting distribution: conservative)."""
    n, c = len(marked), int(np.count_nonzero(marked))
    if c in (0, n):
        return 1.0
    ahead = np.cumsum(marked) - c / n * np.arange(1, n + 1)
    return float(special.kolmogorov(np.max(np.abs(ahead)) / math.sqrt(c * (n - c) / n)))


def _unsettled(values: FloatArray, precision: float, confidence: float, q: float) -> bool:
    n = len(values)
    late = [np.quantile(values[: math.ceil(share * n)], q) for share in (0.25, 0.375, 0.5, 0.75)]
    middle = float(np.quantile(values, q))
    if max(abs(float(x) - middle) for x in late) > precision * abs(middle):
        return True
    early = values[: n // 4]
    if quantile_ranks(len(early), q, confidence) is None:
        return False
    return _width(early, confidence, q) <= _width(values, confidence, q)


def _width(values: FloatArray, confidence: float, q: float) -> float:
    interval = quantile_interval(values, q, confidence)
    return (interval.high or 0.0) - (interval.low or 0.0)
