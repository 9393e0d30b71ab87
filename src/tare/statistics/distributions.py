"""Probabilities of the distributions that ``tare run`` needs, without the time to load scipy.

Tests hold them against scipy, to 1e-10 of the value.
"""

from __future__ import annotations

import math

import numpy as np

from tare.statistics.statistic import FloatArray

#: Wichura's rational functions: the coefficients of numerator and denominator, highest power first;
#: of probabilities within .425 of ½, and of tails down to exp(−25) and below.
_CENTRAL = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
        4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
        1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
        2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
        4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
_TAIL = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
        4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
        2.05319162663775882187e0, 1.0,
    ),
)  # fmt: skip
_FAR_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
        5.46378491116411436990e0, 6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip
#: Of the continued fraction: where it has converged, and terms at most.
_CONVERGED, _MOST_TERMS = 1e-15, 10_000


def normal_cdf(x: float) -> float:
    """Return the probability that a standard normal variable is at most x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_quantiles(p: FloatArray) -> FloatArray:
    """Return the standard normal quantiles of probabilities between 0 and 1, shape (n,).

    References
    ----------
    Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
    Statistics 37, 1988.
    """
    off = p - 0.5
    quantiles = off * _ratio(_CENTRAL, 0.180625 - off * off)
    tails = np.flatnonzero(np.abs(off) > 0.425)
    depth = np.sqrt(-np.log(np.minimum(p[tails], 1 - p[tails])))
    sizes = np.where(depth <= 5, _ratio(_TAIL, depth - 1.6), _ratio(_FAR_TAIL, depth - 5))
    quantiles[tails] = np.copysign(sizes, off[tails])
    return np.asarray(quantiles)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: FloatArray) -> FloatArray:
    numerator, denominator = (np.polyval(some, x) for some in coefficients)
    return np.asarray(numerator / denominator)


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
