"""Spread that a few wild values do not move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tare.statistics import checked
from tare.statistics.statistic import FloatArray, median, median_of_ordered

#: SD of normal values over the median of their distances from the middle.
SD_OF_MEDIAN = 1.4826
#: Robust SDs from the median beyond which values are clipped.
_FAR = 3.0


def clipped(values: FloatArray) -> FloatArray:
    """Clip values to 3 robust SDs about their median; no value where that SD is 0."""
    middle = median(values)
    far = _FAR * robust_sd(values, middle) or np.inf
    return np.clip(values, middle - far, middle + far)


def robust_sd(values: ArrayLike, middle: float | None = None, *, ordered: bool = False) -> float:
    """Return 1.4826 × the median absolute deviation, which is the SD of normal values.

    Parameters
    ----------
    values : float array
        At least one.
    middle : float, optional
        What they deviate from; their median unless given.
    ordered : bool
        Whether the values are known to ascend.
    """
    values = checked.series(values)
    if middle is None:
        middle = median(values)
    distances = np.abs(values - middle)
    if ordered:
        # They descend, then ascend: a stable sort merges the two.
        return SD_OF_MEDIAN * median_of_ordered(np.sort(distances, kind="stable"))
    return SD_OF_MEDIAN * median(distances)
