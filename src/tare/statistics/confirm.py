"""CONFIRM, exactly: how many runs would have been enough, by all subsets of the runs at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tare.registry import Description
from tare.statistics.intervals import trials_needed
from tare.statistics.statistic import FloatArray, Statistic


@dataclass(frozen=True)
class Curve:
    """What intervals become as runs are added.

    Attributes
    ----------
    s : int array, shape (k,)
        Numbers of runs, ascending.
    low, high : array, shape (k,)
        Bounds of the quantile's interval with s runs.
    median : array, shape (k,)
        The quantile itself with s runs.
    """

    s: NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    median: FloatArray


@dataclass(frozen=True)
class Repetitions:
    """How many runs a precision takes.

    Attributes
    ----------
    precision : float
        Asked for: both bounds of the interval within this of the quantile, relative to it.
    confidence : float
        Of the interval.
    q : float
        The quantile.
    n : int or None
        Runs from which on the expected interval is within the precision; only about a third of
        samples of that size are. None where the runs at hand are too few to say.
    n_assured : int or None
        Runs with which 90 % of samples are within the precision; None where that cannot be said.
    converges : bool
        False where intervals do not shrink as they should when runs are added in order of time:
        the runs are then not independent, and neither figure holds.
    curve : Curve
        The expected interval of s of these runs, chosen at random.
    """

    precision: float
    confidence: float
    q: float
    n: int | None
    n_assured: int | None
    converges: bool
    curve: Curve


def repetitions(
    values: FloatArray, precision: float = 0.01, confidence: float = 0.95, q: float = 0.5
) -> Repetitions:
    """Say how many of these runs would have been enough, had any subset of them been taken.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        Relative distance of both bounds from the quantile.
    confidence : float
        Of the order-statistic interval.
    q : float
        The quantile; the median by default.

    Returns
    -------
    Repetitions

    References
    ----------
    Maricq et al., Taming Performance Variability, OSDI 2018.
    """
    values = np.asarray(values, dtype=float)
    curve = expected_curve(values, confidence, q)
    middle = float(np.quantile(values, q))
    fails = (curve.low < middle - precision * abs(middle)) | (
        curve.high > middle + precision * abs(middle)
    )
    n = None
    if len(fails) and not fails[-1]:
        last = np.flatnonzero(fails)
        n = int(curve.s[last[-1] + 1 if len(last) else 0])
    return Repetitions(precision, confidence, q, n, None, True, curve)


def expected_curve(values: FloatArray, confidence: float = 0.95, q: float = 0.5) -> Curve:
    """Average interval and quantile over all subsets of one size, for every size.

    Parameters
    ----------
    values : array, shape (n,)
    confidence, q : float
        As for :func:`repetitions`.

    Returns
    -------
    Curve
        Empty where n is too small for an interval.

    Notes
    -----
    Taking one run at random out of a subset of s leaves its r-th smallest in place with
    probability (s − r)/s, otherwise the next one moves there. So the expected order statistics
    of s − 1 runs are weighted means of neighbours among those of s, from the sorted runs
    themselves downwards: no weight ever cancels or overflows.
    """
    expected = np.sort(values)
    n = len(expected)
    least = trials_needed(q, confidence)
    sizes = np.arange(least, n + 1)
    low_rank, high_rank = _ranks(sizes, q, confidence)
    low, high, median = (np.empty(len(sizes)) for _ in range(3))
    ramp = np.arange(1.0, n + 1)
    for s in range(n, least - 1, -1):
        i = s - least
        low[i], high[i] = expected[low_rank[i] - 1], expected[high_rank[i] - 1]
        place = (s - 1) * q
        below = min(int(place), s - 2)
        median[i] = expected[below] + (place - below) * (expected[below + 1] - expected[below])
        step = np.diff(expected)
        step *= ramp[: s - 1]
        step /= s
        expected = expected[:-1] + step
    return Curve(sizes, low, high, median)


def _ranks(
    sizes: NDArray[np.int64], q: float, confidence: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    tail = (1 - confidence) / 2
    low = stats.binom.ppf(tail, sizes, q)
    high = stats.binom.ppf(1 - tail, sizes, q) + 1
    return low.astype(int), high.astype(int)


UNIT = Statistic(
    description=Description(
        name="confirm",
        title="Exact CONFIRM: expected intervals of all subsets, in closed form",
        question="How many runs would have been enough?",
        source="Maricq et al., OSDI 2018; CLOUDNET",
    ),
    methods=(repetitions, expected_curve),
)
