"""Where to cut a series into segments, and what the levels and lines of segments leave.

Source: Jackson and others 2005; Csörgő and Horváth 1997.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tare.statistics.statistic import FloatArray, IndexArray

#: Factor on log n times the variance in the penalty of one change point.
_PENALTY = 3.0


def penalty(n: int, variance: float) -> float:
    """Squared error that one more segment of n values must save, where only noise is left."""
    return _PENALTY * math.log(n) * variance


def segment_ends(values: FloatArray, penalty: float, shortest: int) -> list[int]:
    """Divide a series so that squared errors and penalties together are least, exactly.

    Parameters
    ----------
    values : array, shape (n,)
        Some thousands at most: the time grows with their square.
    penalty : float
        What each further segment must save in squared error about the means.
    shortest : int
        Values of a segment at least; ``n`` or fewer.

    Returns
    -------
    list of int
        Index after the last value of each segment, in order; the last one is ``n``.

    References
    ----------
    Jackson and others, An algorithm for optimal partitioning of data on an interval, IEEE Signal
    Processing Letters 12, 2005.
    """
    n = len(values)
    centred = np.asarray(values - np.mean(values), dtype=float)
    sums = np.append(0.0, np.cumsum(centred))
    # Where the last segment of the values up to each index begins, and their least cost less the
    # sum of their squares.
    begins, costs = np.zeros(n + 1, dtype=int), np.full(n + 1, np.inf)
    costs[0] = 0.0
    inverse_lengths, room = 1 / np.arange(n, 0, -1), np.empty(n + 1)
    for end in range(shortest, n + 1):
        last = end - shortest + 1
        totals = room[:last]
        np.subtract(sums[end], sums[:last], out=totals)
        np.square(totals, out=totals)
        totals *= inverse_lengths[n - end : n - end + last]
        np.subtract(costs[:last], totals, out=totals)
        begin = int(totals.argmin())
        begins[end], costs[end] = begin, totals[begin] + penalty
    ends = [n]
    while begins[ends[-1]] > 0:
        ends.append(int(begins[ends[-1]]))
    return ends[::-1]


def add_segment(costs: FloatArray, segments: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Append one more segment to the best partition of the values before each index.

    Parameters
    ----------
    costs : array, shape (n + 1,)
        Least cost of the values before each index.
    segments : array, shape (n + 1, n + 1)
        Cost of a segment by its first index and the one after its last.

    Returns
    -------
    (array, int array), both of shape (n + 1,)
        Least cost with that segment, and the index at which it begins.
    """
    totals = costs[:, None] + segments
    return totals.min(axis=0), totals.argmin(axis=0)


def cut_statistics(
    deviations: FloatArray, shortest: int = 1, weights: FloatArray | None = None
) -> FloatArray:
    """How much the means before and after each cut differ: weighted sums of the values before it.

    Parameters
    ----------
    deviations : array, shape (…, n)
        Series of mean 0, in order of time.
    shortest : int
        Values on either side of a cut at least.
    weights : array, shape (n + 1 − 2 · shortest,), optional
        What sums are divided by; unless given, their standard deviations in shuffled series of
        variance 1. The squared error that a cut saves is largest where that quotient is.

    Returns
    -------
    array, shape (…, n + 1 − 2 · shortest)
        Of cuts at the indices ``shortest``, ``shortest`` + 1, …

    References
    ----------
    Csörgő and Horváth, Limit Theorems in Change-Point Analysis, 1997.
    """
    n = deviations.shape[-1]
    sums = np.abs(np.cumsum(deviations, axis=-1)[..., shortest - 1 : n - shortest])
    return np.asarray(sums / (_shuffled_sds(n, shortest) if weights is None else weights))


@lru_cache(maxsize=16)
def _shuffled_sds(n: int, shortest: int) -> FloatArray:
    """Return the standard deviations of the sums before each cut in shuffled series."""
    before = np.arange(shortest, n - shortest + 1)
    return np.asarray(np.sqrt(before * (n - before) / (n - 1)))


def best_cut(values: FloatArray) -> int:
    """Index that cuts a series into the two levels with the least squared error."""
    return int(cut_statistics(values - values.mean()).argmax()) + 1


def residuals_of_levels(values: FloatArray, cuts: list[int]) -> FloatArray:
    """Subtract the mean of its segment from each value."""
    return np.concatenate([part - part.mean() for part in np.split(values, cuts)])


def residuals_of_cuts(deviations: FloatArray, cuts: IndexArray) -> FloatArray:
    """Subtract the means before and after one cut from each row.

    Parameters
    ----------
    deviations : array, shape (m, n)
    cuts : int array, shape (m,)
        Index of each row's cut.
    """
    n = deviations.shape[1]
    before = np.arange(n) < cuts[:, None]
    left = (deviations * before).sum(axis=1) / cuts
    right = (deviations * ~before).sum(axis=1) / (n - cuts)
    return np.asarray(deviations - np.where(before, left[:, None], right[:, None]))


def slopes(values: FloatArray) -> FloatArray:
    """Slope of the line of least squares through each series, shape (…, n), over the index."""
    time = _time(values.shape[-1])
    return np.asarray(values @ time / (time @ time))


def residuals_of_lines(deviations: FloatArray) -> FloatArray:
    """Subtract the line of least squares from each series of mean 0, shape (…, n)."""
    return np.asarray(deviations - slopes(deviations)[..., None] * _time(deviations.shape[-1]))


def _time(n: int) -> FloatArray:
    return np.asarray(np.arange(n) - (n - 1) / 2)


class Moments(NamedTuple):
    """Weighted sums over the points (x, y) of segments, all of one shape."""

    w: FloatArray
    x: FloatArray
    xx: FloatArray
    y: FloatArray
    xy: FloatArray
    yy: FloatArray

    def with_all_at(self, x: FloatArray, others: Moments) -> Moments:
        """Add other points, as if each were at the same x."""
        w, y = others.w, others.y
        return Moments(
            self.w + w,
            self.x + x * w,
            self.xx + x * x * w,
            self.y + y,
            self.xy + x * y,
            self.yy + others.yy,
        )

    def line(self) -> tuple[FloatArray, FloatArray]:
        """Return slope and intercept of the line of least squares."""
        with np.errstate(all="ignore"):
            slope = (self.xy - self.x * self.y / self.w) / (self.xx - self.x * self.x / self.w)
            return slope, (self.y - slope * self.x) / self.w

    def beside_line(self) -> FloatArray:
        """Return the squared error about that line."""
        with np.errstate(all="ignore"):
            along = (self.xy - self.x * self.y / self.w) ** 2
            explained = along / (self.xx - self.x * self.x / self.w)
            return np.asarray(np.maximum(self.yy - self.y * self.y / self.w - explained, 0))

    def beside_level(self) -> FloatArray:
        """Return the squared error about the mean of y."""
        with np.errstate(all="ignore"):
            return np.asarray(np.maximum(self.yy - self.y * self.y / self.w, 0))


class CumulativeMoments:
    """Moments of every segment of weighted points, from cumulative sums that are made once.

    Parameters
    ----------
    x, y, weights : array, shape (n,)
    """

    def __init__(self, x: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        parts = [np.ones(len(x)), x, x * x, y, x * y, y * y]
        self._sums = [np.concatenate([[0.0], np.cumsum(weights * part)]) for part in parts]

    def between(self, first: int | NDArray[np.intp], end: int | NDArray[np.intp]) -> Moments:
        """Return the moments of the points ``first`` to ``end`` − 1; arrays of both broadcast."""
        return Moments(*(sums[end] - sums[first] for sums in self._sums))
