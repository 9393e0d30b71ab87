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
