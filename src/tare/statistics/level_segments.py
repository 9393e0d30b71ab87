"""A series as stretches around constant levels: the least squared error for the fewest stretches.

Source: Jackson and others 2005.
"""

from __future__ import annotations

import numpy as np

from tare.statistics.statistic import FloatArray


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
    sums, squares = (np.append(0.0, np.cumsum(x)) for x in (centred, centred**2))
    # Of the values up to each index: the least cost, and where the last segment of it begins.
    costs, begins = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=int)
    costs[0] = 0.0
    for end in range(shortest, n + 1):
        starts = slice(0, end - shortest + 1)
        lengths = np.arange(end, shortest - 1, -1)
        errors = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / lengths
        totals = costs[starts] + errors
        begins[end] = np.argmin(totals)
        costs[end] = totals[begins[end]] + penalty
    ends = [n]
    while begins[ends[-1]] > 0:
        ends.append(int(begins[ends[-1]]))
    return ends[::-1]
