"""CONFIRM, exactly: how many runs would have been enough, by all subsets of the runs at hand.

Source: Maricq et al., OSDI 2018; CLOUDNET.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.errors import InputError
from tare.statistics.assurance import assured_runs
from tare.statistics.convergence import Curve, converges
from tare.statistics.statistic import FloatArray
from tare.statistics.subsets import (
    EVERY_SIZE,
    expected_by_steps,
    expected_by_weights,
    sizes_and_ranks,
)

__all__ = ["Curve", "Repetitions", "expected_curve", "repetitions"]


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
        Runs from which on the expected interval is within the precision. It is an expectation:
        less than half of all samples of that size are within it [medians: 37 to 52 %]. None
        where the runs at hand are too few to say.
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
    ordered = np.sort(values)
    curve = _expected(ordered, confidence, q)
    n = _stable(curve, precision)
    assured = assured_runs(ordered, precision, confidence, q)
    if assured is not None:
        # What not even one sample of all the runs reached is not assured by fewer.
        assured = max(assured, len(values) + 1 if n is None else n)
    settled = converges(values, precision, confidence, q)
    return Repetitions(precision, confidence, q, n, assured, settled, curve)


def expected_curve(values: FloatArray, confidence: float = 0.95, q: float = 0.5) -> Curve:
    """Average interval and quantile over all subsets of one size, for the sizes up to n.

    Parameters
    ----------
    values : array, shape (n,)
    confidence, q : float
        As for :func:`repetitions`.

    Returns
    -------
    Curve
        For every size up to n = 10,000, above it for sizes 2 % apart; empty where n is too small
        for an interval.
    """
    return _expected(np.sort(np.asarray(values, dtype=float)), confidence, q)


def _expected(ordered: FloatArray, confidence: float, q: float) -> Curve:
    n = len(ordered)
    if not (n and np.isfinite(ordered[[0, -1]]).all()):
        raise InputError(
            "there are no values" if not n else "a value is not finite",
            "leave out what was not measured",
        )
    sizes, low, high = sizes_and_ranks(n, q, confidence)
    if not len(sizes):
        nothing = np.empty(0)
        return Curve(sizes, nothing, nothing, nothing)
    place = (sizes - 1) * q
    below = np.minimum(place.astype(int), sizes - 2)
    ranks = np.stack([low, high, below + 1, below + 2], axis=1)
    expected = expected_by_steps if n <= EVERY_SIZE else expected_by_weights
    found = expected(ordered, sizes, ranks)
    middle = found[:, 2] + (place - below) * (found[:, 3] - found[:, 2])
    return Curve(sizes, found[:, 0], found[:, 1], middle)


def _stable(curve: Curve, precision: float) -> int | None:
    """First size from which on both bounds stay within the precision of the quantile."""
    room = precision * np.abs(curve.median)
    fails = (curve.low < curve.median - room) | (curve.high > curve.median + room)
    if not len(fails) or fails[-1]:
        return None
    return int(curve.s[np.flatnonzero(np.concatenate([[True], fails]))[-1]])
