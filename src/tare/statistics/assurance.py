"""Runs that make a precision likely, rather than only expected.

Source: David and Nagaraja 2003, section 2.5: order statistics are a Markov chain.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from tare.statistics.intervals import trials_needed
from tare.statistics.statistic import FloatArray
from tare.statistics.subsets import IntArray, interval_ranks

#: Share of samples that are to reach the precision.
ASSURANCE = 0.9
#: Fewer values than these within the precision of the quantile say too little of its density.
_FEWEST_NEAR = 20
#: More runs than this multiple of those at hand are not spoken of.
_FURTHEST = 10
#: Positions of the quantile that are averaged over, and sizes looked at in one round.
_NODES, _SIZES = 32, 24


def assured_runs(
    ordered: FloatArray, precision: float = 0.01, confidence: float = 0.95, q: float = 0.5
) -> int | None:
    """Give the number of runs with which nine of ten samples have an interval within the precision.

    A sample does if both bounds of its own interval are within the precision of its own
    quantile. The population is the values at hand, joined by straight lines, so that sizes
    beyond n can be spoken of.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    precision, confidence, q : float
        As for :func:`tare.statistics.confirm.repetitions`.

    Returns
    -------
    int or None
        None where too few values lie near the quantile to say (below 20), or more than ten
        times the runs at hand would be needed.
    """
    n = len(ordered)
    middle = float(np.quantile(ordered, q))
    near = precision * abs(middle)
    count = np.searchsorted(ordered, middle + near, side="right") - np.searchsorted(
        ordered, middle - near
    )
    least = trials_needed(q, confidence)
    if count < _FEWEST_NEAR or n < least:
        return None
    sizes = np.unique(np.geomspace(least, _FURTHEST * n, _SIZES).round().astype(int))
    while True:
        share = share_within(ordered, sizes, precision, confidence, q)
        last = np.flatnonzero(share < ASSURANCE)
        if not len(last):
            return int(sizes[0])
        if last[-1] == len(sizes) - 1:
            return None
        low, high = int(sizes[last[-1]]), int(sizes[last[-1] + 1])
        if high - low == 1:
            return high
        sizes = np.unique(np.linspace(low, high, _SIZES).round().astype(int))


def share_within(
    ordered: FloatArray, sizes: IntArray, precision: float, confidence: float, q: float
) -> FloatArray:
    """Share of samples whose interval is within the precision of their quantile.

    Where the sample's quantile is at the level v of the population, the values above it are
    independent of those below, and each side is counted by a binomial. v itself is
    beta-distributed, and averaged over 32 of its quantiles.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    sizes : int array, shape (k,)

    Returns
    -------
    array, shape (k,)
    """
    n = len(ordered)
    low, high = (x[:, None] for x in interval_ranks(sizes, q, confidence))
    s = sizes[:, None]
    k = np.clip(np.rint((s - 1) * q).astype(int) + 1, low, high)
    level = special.betaincinv(k, s - k + 1, (np.arange(_NODES) + 0.5) / _NODES)
    at = np.interp(level, (np.arange(n) + 0.5) / n, ordered)
    near = precision * np.abs(at)
    # Of equal values the last one counts from below, and the first one from above.
    up = _level(at + near, ordered)
    down = 1 - _level(near - at, -ordered[::-1])
    above = np.clip((up - level) / (1 - level), 0, 1)
    below = np.clip((level - down) / level, 0, 1)
    enough_above = np.where(high > k, special.betainc(high - k, s - high + 1, above), 1.0)
    enough_below = np.where(k > low, special.betainc(k - low, low, below), 1.0)
    return np.asarray(np.mean(enough_above * enough_below, axis=1))


def _level(values: FloatArray, ordered: FloatArray) -> FloatArray:
    """Share of the population up to each value."""
    n = len(ordered)
    inner = np.interp(values, ordered, (np.arange(n) + 0.5) / n)
    return np.where(values < ordered[-1], inner, 1.0)
