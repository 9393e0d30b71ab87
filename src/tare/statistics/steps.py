"""One value for each step of a sweep, on which a neighbour's burst has no hold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tare.statistics.robust import SD_OF_MEDIAN
from tare.statistics.statistic import FloatArray

#: Robust SDs from the median of its step at which a value is left out.
_FAR = 4.0
#: Values at each step from which their scatter there is worth something.
SEVERAL = 3
#: Steps on either side of which the median is how large y is.
_BESIDE = 2
#: SD of normal values over the median distance of two of them.
_PAIRS = SD_OF_MEDIAN / 2**0.5
#: Share of a step's width by which x must follow it.
_FOLLOWS = 0.5


@dataclass(frozen=True)
class Steps:
    """What was measured at each step, by rising x.

    Attributes
    ----------
    x, y : array, shape (steps,)
        Mean x; mean y without values far from the others of the step.
    level : array, shape (steps,)
        Running median of y over x, times x: how large y is there, without its noise.
    counts : array of int, shape (steps,)
    scatter : array, shape (steps,), or None
        Relative SD of values within a step, pooled with two neighbours on either side; None where
        each has one.
    """

    x: FloatArray
    y: FloatArray
    level: FloatArray
    counts: NDArray[np.int64]
    scatter: FloatArray | None

    @property
    def several(self) -> bool:
        """Whether every step has enough values to tell what is off once from what lasts."""
        return bool(self.counts.min() >= SEVERAL)

    def without(self, step: int) -> Steps:
        """Leave out one step."""
        x, y, level = (np.delete(of, step) for of in (self.x, self.y, self.level))
        scatter = None if self.scatter is None else np.delete(self.scatter, step)
        return Steps(x, y, level, np.delete(self.counts, step), scatter)


def gather(x: FloatArray, y: FloatArray, labels: FloatArray) -> Steps:
    """Reduce points to steps.

    Parameters
    ----------
    x, y : array, shape (n,)
        Points; x above 0.
    labels : array, shape (n,)
        The step that each was measured at, as a number in the unit of x.

    Returns
    -------
    Steps
    """
    order = np.argsort(labels, kind="stable")
    x, y, labels = x[order], y[order], labels[order]
    bounds = _apart(x, labels)
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    middles = np.array([np.median(y[part]) for part in parts])
    scatter = _scatter([y[part] for part in parts], middles)
    within = np.zeros(len(parts)) if scatter is None else scatter
    means = np.array([_mean(y[p], m, s) for p, m, s in zip(parts, middles, within, strict=True)])
    # The mean of equal numbers may be another one.
    at = np.array([x[p][0] if np.ptp(x[p]) == 0 else x[p].mean() for p in parts])
    counts = np.diff(bounds)
    by_x = np.argsort(at, kind="stable")
    at, means, counts = at[by_x], means[by_x], counts[by_x]
    scatter = None if scatter is None else scatter[by_x]
    level = _running(means / at) * at
    return Steps(at, means, level, counts, scatter)


def _apart(x: FloatArray, labels: FloatArray) -> NDArray[np.intp]:
    """Part points into steps; neighbours are one where x follows by less than half of the label."""
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(labels)]])
    at = np.add.reduceat(x, bounds[:-1]) / np.diff(bounds)
    further = np.diff(at) >= _FOLLOWS * np.diff(labels[bounds[:-1]])
    return np.asarray(bounds[np.concatenate([[True], further, [True]])])


def _scatter(values: list[FloatArray], middles: FloatArray) -> FloatArray | None:
    """Relative SD within each step, from the distances of all pairs in it and beside it."""
    apart = []
    for one, middle in zip(values, middles, strict=True):
        i, j = np.triu_indices(len(one) if middle else 0, 1)
        apart.append(np.abs(one[i] - one[j]) / abs(middle or 1))
    every = np.concatenate(apart)
    if not len(every):
        return None
    near = [np.concatenate(apart[max(0, i - _BESIDE) : i + _BESIDE + 1]) for i in range(len(apart))]
    return _PAIRS * np.array([np.median(some if len(some) else every) for some in near])


def _mean(values: FloatArray, middle: float, scatter: float) -> float:
    if len(values) < SEVERAL or not scatter:
        return float(values.mean())
    near = np.abs(values - middle) <= _FAR * scatter * abs(middle)
    return float(values[near].mean()) if near.any() else middle


def _running(values: FloatArray) -> FloatArray:
    """Median of each with two neighbours on either side; at the ends, with those that are there."""
    if len(values) <= 2 * _BESIDE:
        return values
    inner = np.median(sliding_window_view(values, 2 * _BESIDE + 1), axis=1)
    first = [np.median(values[: i + _BESIDE + 1]) for i in range(_BESIDE)]
    last = [np.median(values[i - _BESIDE :]) for i in range(len(values) - _BESIDE, len(values))]
    return np.concatenate([first, inner, last])
