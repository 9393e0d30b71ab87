"""The type of what statistics are computed of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def median(values: FloatArray) -> float:
    """Return the median of at least one value; NumPy's own loads masked arrays, 25 ms of CPU."""
    n = len(values)
    low, high = (n - 1) // 2, n // 2
    sorted_there = np.partition(values, (low, high))
    return float((sorted_there[low] + sorted_there[high]) / 2)
