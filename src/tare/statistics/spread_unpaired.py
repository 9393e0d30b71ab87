"""Which of two series is more stable? The ratio of their p10–p90 ranges, without blocks.

Source: Efron and Tibshirani 1993; Rényi 1953 for order statistics as sums of gaps.
"""

from __future__ import annotations

import math

import numpy as np

from tare.statistics.intervals import p10_p90
from tare.statistics.resampling import range_logs
from tare.statistics.spread_verdict import (
    FINER,
    SpreadComparison,
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

#: Resamples of a family of one; a larger family needs a finer p-value.
_RESAMPLES = 9999
_MOST_RESAMPLES = 199_999
#: Below this many values the bootstrap's far tail is too light, and values are shuffled as well.
_SHUFFLED_BELOW = 40
_SHUFFLES = 4999
#: Resamples for each comparison of a family: a p-value of 2 in so many for each is below 5 %.
_FOR_ONE = 50


def resampled_range(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """p10–p90 range of each resample, without drawing one.

    A resample's order statistics are those of as many uniform numbers, looked up among the
    sorted values; four of them make the range, and they are sums of exponential gaps. So a
    resample costs the same for twenty values and for millions.

    Parameters
    ----------
    values : array, shape (n,)
        At least 20.
    resamples, seed : int

    Returns
    -------
    array, shape (resamples,)
    """
    ordered = np.sort(values)
    n = len(ordered)
    low, high = n * 0.1 - 0.5, n * 0.9 - 0.5
    ranks = [int(low) + 1, int(low) + 2, int(high) + 1, int(high) + 2]
    steps = np.diff([0, *ranks, n + 1]).astype(float)
    gaps = np.random.default_rng(seed).standard_gamma(steps, (resamples, 5))
    uniform = np.cumsum(gaps, axis=1)
    at = np.minimum((n * uniform[:, :4] / uniform[:, 4:]).astype(np.int64), n - 1)
    four = ordered[at]
    p10 = four[:, 0] + (low - int(low)) * (four[:, 1] - four[:, 0])
    p90 = four[:, 2] + (high - int(high)) * (four[:, 3] - four[:, 2])
    return np.asarray(p90 - p10)


def compare_spread_unpaired(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    resamples: int = _RESAMPLES,
    *,
    dependence: float = 1.0,
    tick: Tick = None,
) -> SpreadComparison:
    """Compare the p10–p90 ranges of two series that share no blocks.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        Independent trial values.
    margin : float
        Relative growth of practical importance.
    confidence : float
        Of the percentile bootstrap's interval.
    seed, resamples : int
    dependence : float
        Values that are worth one independent value, see :func:`range_dependence`.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.

    Returns
    -------
    SpreadComparison
        As a family of one; its ``n`` is the smaller of m and n. Inconclusive below 20 values.
    """
    n = min(len(first), len(second))
    a, b = (float(p10_p90(x)) if len(x) else 0.0 for x in (first, second))
    slack = None if n < fewest(dependence) else clock_slack(first, second, tick)
    if slack is None:
        return undecided(a, b, n, margin, confidence, dependence)
    observed = math.log(b / a)
    logs, p = np.empty(0), 0.0
    # The finer p-value of a family is worked out only where it may count.
    for many in sorted({min(resamples, _RESAMPLES), resamples}):
        if p < FINER:
            logs = _log_ratios(first, second, many, seed)
            p = two_sided(widened(logs, observed, dependence))
    if n < _SHUFFLED_BELOW and p < 1 - confidence:
        p = max(p, _shuffled_p(first, second, observed / math.sqrt(dependence), seed))
    return judged(a, b, logs, p, n, margin, confidence, slack, dependence)


def _log_ratios(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Log-ratio of the ranges of each resample of both."""
    logs = range_logs(resampled_range(second, resamples, seed + 1))
    return np.asarray(logs - range_logs(resampled_range(first, resamples, seed)))


def resamples_for(family: int) -> int:
    """Resamples with which the smallest p-value still counts after Holm over a family."""
    return min(_MOST_RESAMPLES, max(_RESAMPLES, _FOR_ONE * family))


def _shuffled_p(first: FloatArray, second: FloatArray, observed: float, seed: int) -> float:
    """P-value of the log-ratio where median-centred values may belong to either series."""
    pooled = np.concatenate([first - np.median(first), second - np.median(second)])
    rng = np.random.default_rng(seed)
    mixed = rng.permuted(np.tile(pooled, (_SHUFFLES, 1)), axis=1)
    logs = range_logs(p10_p90(mixed[:, len(first) :])) - range_logs(p10_p90(mixed[:, : len(first)]))
    return beyond(logs, observed)
