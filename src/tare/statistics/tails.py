"""Does a mean have an interval? Not where its error rests on few values, or on an unseen tail.

Source: Hill 1975; thresholds by simulation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Message, message
from tare.statistics import checked
from tare.statistics.statistic import FloatArray

#: Values that must carry the variance, but no more than this share of all values.
CARRYING = 6.0
_MOST_SHARE = 1 / 6
#: Estimated tail index from which on the variance is taken for finite: 2 and a part of the error of
#: the estimate [Pareto 1.5, n = 1,000: estimates above 2 in 16 %, above 2.4 in 9 %].
_LEAST_INDEX = 2.4
#: Share of the values that carry the variance to take for the tail: more would reach across the
#: gap between rare slow runs and all others, which looks like a heavy tail.
_OF_CARRYING = 0.8
_FEWEST_IN_TAIL = 3


def carrying(values: FloatArray) -> float:
    """Count the values that carry the variance: (Σ d²)² / Σ d⁴ for distances d from the median.

    Of normal values a third; where a few runs are slow by the same factor, these. Infinite where
    all values are equal.
    """
    squares = _distances(values) ** 2
    fourth = float(squares @ squares)
    return float(squares.sum()) ** 2 / fourth if fourth > 0 else math.inf


def mean_refusal(values: ArrayLike) -> Message | None:
    """Say why the mean and the SD of values have no interval; None where they have one.

    Parameters
    ----------
    values : array, shape (n,)

    Notes
    -----
    Simulated intervals and bootstraps take the values seen for all there are. They are wrong where
    a value that is seen once or never decides the mean.

    References
    ----------
    Hill, A simple general approach to inference about the tail of a distribution, Annals of
    Statistics 3(5), 1975.
    """
    values = checked.series(values)
    n, carriers = len(values), carrying(values)
    if carriers < min(CARRYING, n * _MOST_SHARE):
        return message(
            "{few} of {n} values {% if few == 1 %}carries{% else %}carry{% endif %} the "
            "mean's error",
            few=max(1, round(carriers)),
            n=n,
        )
    k = max(_FEWEST_IN_TAIL, int(min(math.sqrt(n), _OF_CARRYING * carriers)))
    index = _tail_index(values, k)
    if index < _LEAST_INDEX * (1 - 1 / k):
        return message(
            "the tail is too heavy for an interval of the mean (estimated index {index})",
            index=index,
        )
    return None


def _distances(values: FloatArray) -> FloatArray:
    distances = np.abs(values - np.median(values))
    largest = float(distances.max(initial=0.0))
    return distances / largest if largest > 0 else distances


def _tail_index(values: FloatArray, k: int) -> float:
    """Estimate by how steeply the k largest distances from the median fall off (Hill)."""
    n = len(values)
    if k >= n:
        return math.inf
    tail = np.partition(_distances(values), n - 1 - k)[n - 1 - k :]
    least = float(tail[0])
    if least <= 0:
        return math.inf
    mean = float(np.log(tail[1:] / least).mean())
    return 1 / mean if mean > 0 else math.inf
