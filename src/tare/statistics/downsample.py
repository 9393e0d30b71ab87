"""A series of any length as a few thousand values in order of time, outliers drawn in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.statistics.statistic import FloatArray, IndexArray, quantiles_of

#: Longest series that is looked at value by value; longer ones are averaged over blocks.
MOST = 8192
_BLOCKS = 4096
#: Values of a long series that are read at once.
_PIECE = 1 << 18


@dataclass(frozen=True, eq=False)
class Course:
    """What tests of order look at.

    Attributes
    ----------
    values : array, shape (m,)
        The series itself up to 8192 values; otherwise the means of at most 4096 blocks of its
        values, each drawn in to Tukey's far fences of the whole.
    block : int
        Values in a block. The incomplete last block is left out.
    variance : float
        Of single values, drawn in likewise.
    stretch : array, shape (k,)
        Consecutive single values: the series itself up to 8192 values, otherwise its middle. Short
        periods are seen in them that means of blocks hide.
    spaced : array, shape (k,)
        Single values evenly spaced over the whole series, all of them up to 8192 values. Changes
        of spread are seen in them that means of blocks hide.
    sorter, stretch_sorter, spaced_sorter : int array
        Indices that sort ``values``, ``stretch`` and ``spaced``.
    """

    values: FloatArray
    block: int
    variance: float
    stretch: FloatArray
    spaced: FloatArray
    sorter: IndexArray
    stretch_sorter: IndexArray
    spaced_sorter: IndexArray


def course_of(values: FloatArray, sorter: IndexArray | None = None) -> Course:
    """Condense a series; it is read once, in pieces.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included.
    sorter : int array, shape (n,), optional
        Indices that sort the values, where they are known.
    """
    n = len(values)
    if n <= MOST:
        x = np.asarray(values, dtype=float)
        sorter = np.argsort(x) if sorter is None else sorter
        return Course(x, 1, float(np.var(x)) if n else 0.0, x, x, sorter, sorter, sorter)
    some, middle = sample(values), _middle(n)
    spaced_sorter = np.argsort(some) if sorter is None else _every(_step(n, MOST), sorter)
    low, high = fences(some[spaced_sorter], ordered=True)
    block = -(-n // _BLOCKS)
    means = np.empty(n // block)
    for first in range(0, len(means), step := max(1, _PIECE // block)):
        piece = np.clip(values[first * block : min(first + step, len(means)) * block], low, high)
        means[first : first + step] = piece.reshape(-1, block).mean(axis=1)
    stretch = np.asarray(values[middle : middle + MOST], dtype=float)
    if sorter is None:
        stretch_sorter = np.argsort(stretch)
    else:
        stretch_sorter = sorter[(sorter >= middle) & (sorter < middle + MOST)] - middle
    variance = float(np.var(np.clip(some, low, high)))
    sorters = np.argsort(means), stretch_sorter, spaced_sorter
    return Course(means, block, variance, stretch, some, *sorters)


def _every(step: int, sorter: IndexArray) -> IndexArray:
    """Return the indices that sort every so manieth value, from those that sort all."""
    kept = np.zeros(len(sorter), dtype=bool)
    kept[::step] = True
    return np.asarray(sorter[kept[sorter]] // step)


def beside(course: Course, fitted: FloatArray) -> Course:
    """Take a fitted course out of one.

    Parameters
    ----------
    course : Course
    fitted : array, shape (m,)
        Level or line at each value of the course.
    """
    left = course.values - fitted
    if course.block == 1:
        sorter = np.argsort(left)
        return Course(left, 1, float(np.var(left)), left, left, sorter, sorter, sorter)
    before, after = float(np.var(course.values)), float(np.var(left))
    last, n = len(fitted) - 1, len(fitted) * course.block
    in_stretch = (_middle(n) + np.arange(len(course.stretch))) // course.block
    in_spaced = np.arange(len(course.spaced)) * len(fitted) // len(course.spaced)
    stretch = course.stretch - fitted[np.minimum(in_stretch, last)]
    spaced = course.spaced - fitted[np.minimum(in_spaced, last)]
    variance = max(course.variance - before + after, 1e-300)
    sorters = np.argsort(left), np.argsort(stretch), np.argsort(spaced)
    return Course(left, course.block, variance, stretch, spaced, *sorters)


def block_means(values: FloatArray, most: int) -> tuple[FloatArray, int]:
    """Average a series over blocks of equal length, to at most so many means.

    Returns
    -------
    (array, int)
        The means, and the length of a block; the incomplete last block is left out.
    """
    block = -(-len(values) // most)
    return values[: len(values) // block * block].reshape(-1, block).mean(axis=1), block


def _middle(n: int) -> int:
    """Index at which the middle stretch of a long series begins."""
    return max(0, (n - MOST) // 2)


def sample(values: FloatArray, most: int = MOST) -> FloatArray:
    """Evenly spaced values of a long series; all values of a short one."""
    return np.asarray(values[:: _step(len(values), most)], dtype=float)


def _step(n: int, most: int) -> int:
    return max(1, -(-n // most))


def fences(values: FloatArray, *, ordered: bool = False) -> tuple[float, float]:
    """Return Tukey's far fences: three interquartile ranges beyond the quartiles.

    The extremes where the quartiles are equal: at least half of the values are then ties.

    ``ordered``: whether the values are known to ascend.
    """
    low, high = quantiles_of(values, 0.25, 0.75, ordered=ordered)
    if low == high:
        return float(np.min(values)), float(np.max(values))
    return low - 3 * (high - low), high + 3 * (high - low)
