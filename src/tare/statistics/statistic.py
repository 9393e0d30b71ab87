"""The types of the values that statistics take, and small functions of them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Shift:
    """By how much a second sample is shifted against a first.

    Attributes
    ----------
    middle : float
        Hodges–Lehmann median of the differences second − first, in their unit, or of their logs;
        NaN where values above a limit leave it open.
    low, high : float or None
        Bounds; None where there is no interval.
        Infinite where values above a limit leave the shift open to that side.
    p : float
        Two-sided, of there being no shift; NaN where it was not tested.
    tick : float or None
        The larger of the two, in the unit of the values; None where all values of one are equal,
        and it is not known.
    fewest : int
        Pairs below which the interval is as wide as AR(.9) asks; see :func:`pairs_for_ranks`.
    gap : float
        How far the estimate is open to each side because of values above a limit, however many
        values there are.
    """

    middle: float
    low: float | None
    high: float | None
    p: float
    tick: float | None = 0.0
    fewest: int = 0
    gap: float = 0.0

    @property
    def different(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)
