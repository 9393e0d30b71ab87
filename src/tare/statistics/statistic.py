"""The types of the values that statistics take, and small functions of them."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
#: Logarithm of the largest float.
MAX_LOG = math.log(sys.float_info.max)


def exp(log: float) -> float:
    """Return e to a power: infinite for infinity, otherwise at most the largest float."""
    return math.inf if log == math.inf else math.exp(min(log, MAX_LOG))


def median(values: FloatArray) -> float:
    """Return the median of at least one value; NumPy's own loads masked arrays, 25 ms of CPU."""
    n = len(values)
    low, high = (n - 1) // 2, n // 2
    sorted_there = np.partition(values, (low, high))
    return float((sorted_there[low] + sorted_there[high]) / 2)


def median_of_ordered(ordered: FloatArray) -> float:
    """Return the median of at least one value, in ascending order."""
    n = len(ordered)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


def quantiles_of(values: FloatArray, *qs: float, ordered: bool = False) -> list[float]:
    """Return quantiles of at least one value, as NumPy interpolates them, to the last bit.

    Parameters
    ----------
    values : array, shape (n,)
        In any order.
    *qs : float
        Between 0 and 1.
    ordered : bool
        Whether the values are known to ascend.
    """
    n = len(values)
    places = [(n - 1) * q for q in qs]
    lower = [int(place) for place in places]
    upper = [min(below + 1, n - 1) for below in lower]
    there = values if ordered else np.partition(values, sorted({*lower, *upper}))
    return [
        interpolate(float(there[below]), float(there[above]), place - below)
        for place, below, above in zip(places, lower, upper, strict=True)
    ]


def interpolate(low: float, high: float, share: float) -> float:
    """Return the value at a share of the way between two, as NumPy computes it, to the last bit."""
    if low == high:
        return low
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)
