"""Probabilities of the distributions that ``tare run`` needs, without the time to load scipy.

Tests hold them against scipy, to 1e-10 of the value.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from tare.statistics.statistic import FloatArray

_STANDARD = NormalDist()
#: Of the continued fraction: where it has converged, and terms at most.
_CONVERGED, _MOST_TERMS = 1e-15, 10_000


def normal_cdf(x: float) -> float:
    """Return the probability that a standard normal variable is at most x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_quantiles(p: FloatArray) -> FloatArray:
    """Return the standard normal quantiles of probabilities between 0 and 1, shape (n,)."""
    return np.array([_STANDARD.inv_cdf(one) for one in p.tolist()])


def chi2_survival(df: int, x: float) -> float:
    """Return the probability that a chi-square variable of so many degrees of freedom exceeds x.

    A finite sum, as df is a whole number (Abramowitz and Stegun, 26.4.4 and 26.4.5).
    """
    half = x / 2
    first = 1 if df % 2 else 0
    total = math.erfc(math.sqrt(half)) if df % 2 else 0.0
    for doubled in range(2 + first, df + 1, 2):
        power = doubled / 2 - 1
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1)) if half else (
            0.0 if power else 1.0
        )  # fmt: skip
    return total


def student_cdf(df: float, t: float) -> float:
    """Return the probability that a Student variable of df degrees of freedom is at most t."""
    square = t * t
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square))
    return tail if t < 0 else 1 - tail


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function at x, where ``rest`` is 1 − x.

    By its continued fraction, evaluated as Lentz did (DLMF 8.17.22).
    """
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    )
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MOST_TERMS):
        change = 1.0
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + numerator * d)
            c = _apart(1 + numerator / c)
            change = c * d
            fraction *= change
        if abs(change - 1) < _CONVERGED:
            break
    return front * fraction / a


def _apart(value: float) -> float:
    """Keep a divisor from 0."""
    return value if abs(value) > 1e-300 else 1e-300
