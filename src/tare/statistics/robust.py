"""Spread that a few wild values do not move."""

from __future__ import annotations

import numpy as np

from tare.statistics.statistic import FloatArray, median

#: SD of normal values over the median of their distances from the middle.
SD_OF_MEDIAN = 1.4826


def robust_sd(values: FloatArray, middle: float | None = None) -> float:
    """Return 1.4826 × the median absolute deviation, which is the SD of normal values.

    Parameters
    ----------
    values : float array
        At least one.
    middle : float, optional
        What they deviate from; their median unless given.
    """
    if middle is None:
        middle = median(values)
    return SD_OF_MEDIAN * median(np.abs(values - middle))
