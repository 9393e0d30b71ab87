"""Expected order statistics of a random subset of the values at hand, in closed form."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tare.statistics.intervals import trials_needed
from tare.statistics.statistic import FloatArray

IntArray = NDArray[np.int64]

#: Up to so many values every size of subset is gone through [10,000: 0.05 s], above it sizes
#: 2 % apart.
EVERY_SIZE = 10_000
_STEP = 1.02
#: Ranks, or blocks of ranks, that carry an expectation where not every size is gone through. The
#: blocks are then a sixtieth of the rank's standard deviation wide [error below 3e-6 of the SD of
#: the values at the median, below 5e-4 for the very last ranks of skewed ones].
_BLOCKS = 1024
#: What the weights outside of them may sum up to.
_OUTSIDE = 1e-16


@lru_cache(maxsize=16)
def sizes_and_ranks(n: int, q: float, confidence: float) -> tuple[IntArray, IntArray, IntArray]:
    """Sizes of subset to look at, with the ranks of the quantile's interval for each.

    Returns
    -------
    sizes, low, high : int array, shape (k,)
        Ascending, from the first that has an interval to n; empty where n has none.
    """
    least = trials_needed(q, confidence)
    sizes = np.arange(least, n + 1)
    if n > EVERY_SIZE:
        steps = 1 + math.ceil(math.log(n / least) / math.log(_STEP))
        sizes = np.unique(np.geomspace(least, n, steps).round().astype(int))
    low, high = interval_ranks(sizes, q, confidence)
    return sizes, low, high


def interval_ranks(sizes: IntArray, q: float, confidence: float) -> tuple[IntArray, IntArray]:
    """Ranks as :func:`tare.statistics.intervals.quantile_ranks` has them, for many sizes."""
    tail = (1 - confidence) / 2
    return _binomial_quantiles(tail, sizes, q), _binomial_quantiles(1 - tail, sizes, q) + 1


def _binomial_quantiles(p: float, sizes: IntArray, q: float) -> IntArray:
    """Smallest counts whose probability is at least p: scipy's ``binom.ppf`` in a third of time."""
    z = special.ndtri(p)
    near = sizes * q + z * np.sqrt(sizes * q * (1 - q)) + (1 - 2 * q) * (z * z - 1) / 6 - 0.5
    count = np.clip(np.rint(near), 0, sizes)
    enough = special.bdtr(count, sizes, q) >= p
    short = np.flatnonzero(~enough)
    while len(short):
        count[short] += 1
        short = short[special.bdtr(count[short], sizes[short], q) < p]
    ample = np.flatnonzero(enough & (count > 0))
    while len(ample):
        ample = ample[special.bdtr(count[ample] - 1, sizes[ample], q) >= p]
        count[ample] -= 1
        ample = ample[count[ample] > 0]
    return np.asarray(count, dtype=np.int64)


def expected_by_steps(ordered: FloatArray, sizes: IntArray, ranks: IntArray) -> FloatArray:
    """Find expected order statistics for every size of subset, by taking one value away at a time.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    sizes : int array, shape (k,)
        Every size from the least one to n.
    ranks : int array, shape (k, m)
        From 1 to the size.

    Returns
    -------
    array, shape (k, m)

    Notes
    -----
    Taking one value at random out of a subset of s leaves its r-th smallest in place with
    probability (s − r)/s; otherwise the next one takes its place. So the expectations for s − 1
    are weighted means of neighbouring ones for s, and those for n are the values: nothing
    cancels, nothing overflows, and no weight is ever computed.
    """
    n = len(ordered)
    expected = ordered.copy()
    ramp = np.arange(1.0, n + 1)
    step = np.empty(n)
    found = np.empty(ranks.shape)
    indices = ranks - 1
    least = int(sizes[0])
    for s in range(n, least - 1, -1):
        found[s - least] = expected[indices[s - least]]
        stay, step = expected[:-1], step[: s - 1]
        np.subtract(expected[1:], stay, step)
        np.multiply(step, ramp[: s - 1], step)
        np.multiply(step, 1 / s, step)
        expected = np.add(stay, step, stay)
    return found


def expected_by_weights(ordered: FloatArray, sizes: IntArray, ranks: IntArray) -> FloatArray:
    """Find expected order statistics for any sizes of subset, by the weights of all values.

    As :func:`expected_by_steps`, for any sizes. The r-th smallest of s is the i-th of all n with
    probability C(i−1, r−1) C(n−i, s−r) / C(n, s). Where that spreads over more than 1,024 ranks,
    means of blocks of values stand for them.
    """
    n = len(ordered)
    middle = float(ordered[n // 2])
    moved = ordered - middle
    sums, moments = (
        np.concatenate([[0.0], np.cumsum(x)]) for x in (moved, moved * np.arange(1, n + 1))
    )
    rows = [_by_weights(sums, moments, sizes, rank) for rank in ranks.T]
    return np.stack(rows, axis=1) + middle


def _by_weights(
    sums: FloatArray, moments: FloatArray, sizes: IntArray, ranks: IntArray
) -> FloatArray:
    n, r, s = len(sums) - 1, ranks[:, None], sizes[:, None]
    # Drawing without replacement spreads less than with it, which the beta distribution describes.
    first = np.floor(n * special.betaincinv(r, s - r + 1, _OUTSIDE)).astype(int) - 1
    last = np.ceil(n * special.betainccinv(r, s - r + 1, _OUTSIDE)).astype(int) + 1
    first, last = np.maximum(first, r - 1), np.minimum(last, n - s + r)
    width = -((first - last) // _BLOCKS)
    edges = np.minimum(first + width * np.arange(_BLOCKS + 1), last)
    many = np.diff(edges)
    centre = (edges[:, :-1] + edges[:, 1:] + 1) / 2
    log_weight = (
        special.gammaln(centre)
        - special.gammaln(centre - r + 1)
        + special.gammaln(n - centre + 1)
        - special.gammaln(np.maximum(n - centre - s + r + 1, 0.5))
    )
    log_weight[many == 0] = -np.inf
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    inside = np.diff(sums[edges])
    # Within a block the weight changes by the ratio of neighbours, as the values do.
    i = np.minimum(centre, last) - 0.5
    ratio = i * (n - i - s + r) / ((i - r + 1) * (n - i))
    tilted = np.log(ratio) * (np.diff(moments[edges]) - centre * inside)
    return np.asarray(np.sum(weight * (inside + tilted), axis=1) / np.sum(weight * many, axis=1))
