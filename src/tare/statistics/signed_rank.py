"""Wilcoxon's signed-rank test and the interval of the Hodges–Lehmann median, exactly.

Source: Wilcoxon 1945; Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tare.statistics import checked
from tare.statistics.statistic import FloatArray

#: Up to this n the distribution is computed exactly; the normal one is then off by less than 1e-4.
_EXACT = 300
#: Up to this n all Walsh averages are made; beyond, the wanted one is searched for, until no more
#: than this many times n are left to sort.
_FEW = 128
_LEFT = 4

IntArray = NDArray[np.intp]


def fewest_pairs(alpha: float) -> int:
    """Return the pairs below which no interval at a two-sided level exists."""
    return math.ceil(1 - math.log2(alpha))


@lru_cache(maxsize=64)
def signed_rank_cdf(n: int) -> FloatArray:
    """P(T ≤ t) of Wilcoxon's signed-rank statistic for t = 0 … n (n + 1) / 2, exactly."""
    p = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(len(p) + rank)
        longer[: len(p)] += 0.5 * p
        longer[rank:] += 0.5 * p
        p = longer
    return np.minimum(np.cumsum(p), 1.0)


def _rank_probability(n: int, t: float) -> float:
    """P(T ≤ t): exact for small n, normal with continuity correction beyond."""
    if t < 0:
        return 0.0
    if n <= _EXACT:
        return float(signed_rank_cdf(n)[int(min(t, n * (n + 1) / 2))])
    sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return float(special.ndtr((t + 0.5 - n * (n + 1) / 4) / sd))


def _critical_rank(n: int, alpha: float) -> int:
    """Largest t with P(T ≤ t) ≤ alpha / 2; −1 if there is none."""
    if alpha <= 0:
        return -1
    if n <= _EXACT:
        return int(np.searchsorted(signed_rank_cdf(n), alpha / 2, side="right")) - 1
    sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.floor(n * (n + 1) / 4 - 0.5 + float(special.ndtri(alpha / 2)) * sd)


def signed_rank_level(n: int, alpha: float) -> float:
    """Two-sided level that the test at n really has where it may have alpha; 0 if there is none."""
    return 2 * _rank_probability(n, _critical_rank(n, alpha))


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[IntArray, IntArray]:
    i, j = np.triu_indices(n)
    return i, j


def walsh_at(values: FloatArray, ranks: Sequence[int]) -> list[float]:
    """Walsh averages at these ranks (from 0), without sorting all of them.

    Parameters
    ----------
    values : array, shape (n,)
        In any order.
    ranks : sequence of int
        From 0 to n (n + 1) / 2 − 1.
    """
    if len(values) <= _FEW:
        i, j = _pairs(len(values))
        parted = np.partition((values[i] + values[j]) / 2, ranks)
        return [float(parted[r]) for r in ranks]
    ordered = np.sort(values)
    return [_select(ordered, r) for r in ranks]


def hodges_lehmann(values: ArrayLike) -> float:
    """Median of the Walsh averages."""
    values = checked.series(values)
    last = len(values) * (len(values) + 1) // 2 - 1
    return math.fsum(walsh_at(values, [last // 2, last - last // 2])) / 2


def _select(ordered: FloatArray, rank: int) -> float:
    """Find one Walsh average of sorted values: halve the range, then part what is left in it."""
    n = len(ordered)
    each = np.arange(n)
    low, high = float(ordered[0]), float(ordered[-1])
    start, end = each, np.full(n, n)
    while int(np.sum(end - start)) > _LEFT * n:
        middle = low + (high - low) / 2
        if not low < middle < high:  # what is left are ties
            tied = int(np.argmax(end > start))
            return float(ordered[tied] + ordered[start[tied]]) / 2
        upto = _partners(ordered, middle)
        if int(np.sum(upto - each)) > rank:
            high, end = middle, upto
        else:
            low, start = middle, upto
    many = end - start
    i = np.repeat(each, many)
    j = np.arange(len(i)) - np.repeat(np.cumsum(many) - end, many)
    place = rank - int(np.sum(start - each))
    return float(np.partition((ordered[i] + ordered[j]) / 2, place)[place])


def _partners(ordered: FloatArray, most: float) -> IntArray:
    """For each i, the end of those j ≥ i whose Walsh average with it is no larger."""
    ends = np.searchsorted(ordered, 2 * most - ordered, side="right")
    return np.maximum(ends, np.arange(len(ordered)))


def _count(ordered: FloatArray, most: float) -> int:
    """Count the Walsh averages of sorted values that are no larger."""
    return int(np.sum(_partners(ordered, most) - np.arange(len(ordered))))


def signed_rank_interval(
    log_ratios: FloatArray, confidence: float = 0.95, dependence: float = 1.0
) -> tuple[float, float] | None:
    """Interval of the Hodges–Lehmann median by inverting the exact signed-rank test.

    Parameters
    ----------
    log_ratios : array, shape (n,)
        One a pair.
    confidence : float
        Coverage is at least this if the log-ratios are symmetric about their median, which a
        coin flip for the order inside each block brings about where there is no effect.
    dependence : float
        Pairs that are worth one independent pair (dependence time), where no coin was flipped; the
        normal distribution, widened by its root, then takes the place of the exact one.

    Returns
    -------
    (float, float) or None
        None if n is too small (below 6 at 95 %).

    References
    ----------
    Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014, section 3.3.
    """
    n = len(log_ratios)
    if dependence == 1:
        c = _critical_rank(n, 1 - confidence)
    else:
        middle, sd = _moments(n, dependence)
        quantile = special.stdtrit(_freedom(n, dependence), (1 - confidence) / 2)
        c = math.floor(middle - 0.5 + float(quantile) * sd)
    if c < 0:
        return None
    low, high = walsh_at(log_ratios, [c, n * (n + 1) // 2 - 1 - c])
    return low, high


def signed_rank_p(log_ratios: FloatArray, dependence: float = 1.0) -> float:
    """Two-sided p of the median being 0; below alpha exactly where the interval excludes 0."""
    ordered = np.sort(log_ratios)
    n = len(ordered)
    upto = _count(ordered, 0.0)
    from_zero = _count(-ordered[::-1], 0.0)
    if dependence == 1:
        p = 2 * min(_rank_probability(n, upto), _rank_probability(n, from_zero))
        return min(1.0, p)
    middle, sd = _moments(n, dependence)
    away = (min(upto, from_zero) + 0.5 - middle) / sd
    return min(1.0, 2 * float(special.stdtr(_freedom(n, dependence), away)))


def _moments(n: int, dependence: float) -> tuple[float, float]:
    """Mean and SD of the signed-rank statistic of pairs that depend on each other."""
    return n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24 * dependence)


def _freedom(n: int, dependence: float) -> float:
    """Degrees of freedom: what is estimated of the dependence is not free."""
    return max(1.0, n / dependence - 1)
