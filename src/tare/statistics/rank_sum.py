"""The rank-sum test of Mann and Whitney, and the interval of the shift that inverts it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from tare.registry import Description
from tare.statistics.statistic import FloatArray, Statistic

#: Up to so many values on each side the distribution without ties is computed exactly.
_EXACT = 50
#: Up to so many differences all of them are looked at; beyond, the one wanted is searched for.
_MOST_DIFFERENCES = 4_000_000
#: Steps of that search: halving a range so often leaves nothing of a double's digits.
_HALVINGS = 60


@lru_cache(maxsize=64)
def rank_sum_cdf(m: int, n: int) -> FloatArray:
    """P(U ≤ u) of Mann and Whitney's U without ties for u = 0 … m n, exactly.

    Parameters
    ----------
    m, n : int
        Values on each side.
    """
    size = m * n + 1
    counts = np.zeros(size)
    counts[0] = 1.0
    # Product of (1 − x^(n+i)) / (1 − x^i): the generating function of the counts.
    for i in range(1, m + 1):
        if n + i < size:
            counts[n + i :] -= counts[: size - n - i].copy()
        for start in range(i):
            counts[start::i] = np.cumsum(counts[start::i])
    return np.asarray(np.minimum(np.cumsum(counts / counts.sum()), 1.0))


def rank_sum_p(first: FloatArray, second: FloatArray, dependence: float = 1.0) -> float:
    """Two-sided p of "neither tends to be larger"; ties are corrected for.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
    dependence : float
        Values that are worth one independent value (dependence time); widens the normal
        distribution, which is then used for any m and n.
    """
    m, n = len(first), len(second)
    u = float(stats.mannwhitneyu(second, first, method="asymptotic").statistic)
    least = min(u, m * n - u)
    sd, ties = _sd(first, second)
    if sd == 0:
        return 1.0
    if max(m, n) <= _EXACT and dependence == 1 and not ties:
        return min(1.0, 2 * float(rank_sum_cdf(m, n)[math.floor(least)]))
    z = (least + 0.5 - m * n / 2) / (sd * math.sqrt(dependence))
    return min(1.0, 2 * float(stats.norm.cdf(z)))


def rank_sum_interval(
    first: FloatArray, second: FloatArray, confidence: float = 0.95, dependence: float = 1.0
) -> tuple[float, float, float] | None:
    """Hodges–Lehmann shift from the first to the second, with its interval.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
    confidence : float
        Coverage is at least this for independent values if the two distributions differ by a
        shift only.
    dependence : float
        As for :func:`rank_sum_p`.

    Returns
    -------
    (float, float, float) or None
        Median of all differences second − first, and bounds; None if m and n are too small.

    References
    ----------
    Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014, section 4.3.
    """
    m, n = len(first), len(second)
    alpha = 1 - confidence
    if max(m, n) <= _EXACT and dependence == 1:
        c = int(np.searchsorted(rank_sum_cdf(m, n), alpha / 2, side="right")) - 1
    else:
        sd = math.sqrt(m * n * (m + n + 1) / 12 * dependence)
        c = math.floor(m * n / 2 - 0.5 + float(stats.norm.ppf(alpha / 2)) * sd)
    if c < 0:
        return None
    half = (m * n - 1) // 2
    wanted = [half, m * n - 1 - half, c, m * n - 1 - c]
    lower, upper, low, high = _differences(first, second, wanted)
    return (lower + upper) / 2, low, high


def _sd(first: FloatArray, second: FloatArray) -> tuple[float, bool]:
    """SD of U without a difference, corrected for ties; whether there are any."""
    m, n = len(first), len(second)
    _, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    total = m + n
    tied = float(np.sum(counts.astype(float) ** 3 - counts)) / (total * (total - 1))
    return math.sqrt(max(0.0, m * n / 12 * (total + 1 - tied))), bool(counts.max() > 1)


def _differences(first: FloatArray, second: FloatArray, ranks: list[int]) -> list[float]:
    """Pick differences second − first by their ranks, from 0."""
    if len(first) * len(second) <= _MOST_DIFFERENCES:
        all_of_them = np.subtract.outer(second, first).ravel()
        return [float(x) for x in np.partition(all_of_them, sorted(set(ranks)))[ranks]]
    a, b = np.sort(first), np.sort(second)
    return [_search(a, b, rank) for rank in ranks]


def _search(a: FloatArray, b: FloatArray, rank: int) -> float:
    """Halve the range of the differences until only the one of a rank is left in it."""
    low, high = float(b[0] - a[-1]), float(b[-1] - a[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if int(np.searchsorted(b, a + middle, side="right").sum()) > rank:
            high = middle
        else:
            low = middle
    return high


UNIT = Statistic(
    description=Description(
        name="rank_sum",
        title="Rank-sum test, and the interval of the shift between two samples that inverts it",
        question="By how much do two samples differ that are not paired?",
        source="Mann and Whitney 1947; Hodges and Lehmann 1963; Hollander, Wolfe, Chicken 2014",
    ),
    methods=(rank_sum_interval, rank_sum_p, rank_sum_cdf),
)
