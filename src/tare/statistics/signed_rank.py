"""Wilcoxon's signed-rank test and the interval of the Hodges–Lehmann median, exactly."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from tare.registry import Description
from tare.statistics.statistic import FloatArray, Statistic

#: Up to this n the distribution is computed exactly; the normal one is then off by less than 1e-4.
_EXACT = 300


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
    return float(stats.norm.cdf((t + 0.5 - n * (n + 1) / 4) / sd))


def _critical_rank(n: int, alpha: float) -> int:
    """Largest t with P(T ≤ t) ≤ alpha / 2; −1 if there is none."""
    if n <= _EXACT:
        return int(np.searchsorted(signed_rank_cdf(n), alpha / 2, side="right")) - 1
    sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.floor(n * (n + 1) / 4 - 0.5 + float(stats.norm.ppf(alpha / 2)) * sd)


def signed_rank_level(n: int, alpha: float) -> float:
    """Two-sided level that the test at n really has where it may have alpha; 0 if there is none."""
    return 2 * _rank_probability(n, _critical_rank(n, alpha))


def walsh_averages(values: FloatArray) -> FloatArray:
    """All (x_i + x_j) / 2 with i ≤ j, sorted; shape (n (n + 1) / 2,)."""
    i, j = np.triu_indices(len(values))
    return np.sort((values[i] + values[j]) / 2)


def signed_rank_interval(
    log_ratios: FloatArray, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the Hodges–Lehmann median by inverting the exact signed-rank test.

    Parameters
    ----------
    log_ratios : array, shape (n,)
        One a pair.
    confidence : float
        Coverage is at least this if the log-ratios are symmetric about their median, which a
        coin flip for the order inside each block brings about where there is no effect.

    Returns
    -------
    (float, float) or None
        None if n is too small (below 6 at 95 %).

    References
    ----------
    Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014, section 3.3.
    """
    n = len(log_ratios)
    c = _critical_rank(n, 1 - confidence)
    if c < 0:
        return None
    averages = walsh_averages(log_ratios)
    return float(averages[c]), float(averages[len(averages) - 1 - c])


def signed_rank_p(log_ratios: FloatArray) -> float:
    """Two-sided p of the median being 0; below alpha exactly where the interval excludes 0."""
    averages = walsh_averages(log_ratios)
    n, total = len(log_ratios), len(averages)
    below = total - int(np.searchsorted(averages, 0, side="right"))
    above = int(np.searchsorted(averages, 0, side="left"))
    p = 2 * min(_rank_probability(n, total - below), _rank_probability(n, total - above))
    return min(1.0, p)


UNIT = Statistic(
    description=Description(
        name="signed_rank",
        title="Exact signed-rank test, and the interval of the median that inverts it",
        question="Is the middle of paired differences zero, and where may it lie?",
        source="Wilcoxon 1945; Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014",
    ),
    methods=(signed_rank_interval, signed_rank_p, signed_rank_cdf, walsh_averages),
)
