"""How sure must one look be, so that all looks together keep the error that is allowed?"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import optimize, special

from tare.registry import Description
from tare.statistics.statistic import FloatArray, Statistic

#: Looks that are over: (n, normal quantile of the boundary), in order of n.
History = tuple[tuple[int, float], ...]

#: Points of the quadrature [error of a level below 1e-7 where n grows by 10 % or more].
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
#: Beyond this many standard deviations nothing is left to spend.
_FAR = 12.0


@lru_cache(maxsize=65536)
def level(history: History, n: int, spend: float) -> float:
    """Two-sided level of a look at n so that all looks together alarm with probability ``spend``.

    Parameters
    ----------
    history : tuple of (int, float)
        Sizes and boundaries of the looks before, in standard deviations.
    n : int
        Size of this look, above that of all before.
    spend : float
        Probability, where nothing differs, that this look or one before it alarms.

    Returns
    -------
    float
        0 where the looks before have used all of it.

    References
    ----------
    Armitage, McPherson and Rowe 1969; Lan and DeMets 1983.
    """
    left = spend - spent(history)
    if left <= 1e-12:
        return 0.0
    if _crossing(history, n, 0.0) <= left:
        return 1.0
    z = optimize.brentq(lambda z: _crossing(history, n, z) - left, 0.0, _FAR, xtol=1e-7)
    return float(2 * special.ndtr(-z))


@lru_cache(maxsize=65536)
def spent(history: History) -> float:
    """Probability that one of these looks alarms where nothing differs."""
    if not history:
        return 0.0
    before, (n, z) = history[:-1], history[-1]
    return spent(before) + _crossing(before, n, z)


def _crossing(history: History, n: int, z: float) -> float:
    """Probability that no look of the history alarms, but one at n with boundary z does."""
    if not history:
        return float(2 * special.ndtr(-z))
    sums, mass = _going_on(history)
    sd = math.sqrt(n - history[-1][0])
    bound = z * math.sqrt(n)
    return float(mass @ (special.ndtr((sums - bound) / sd) + special.ndtr((-sums - bound) / sd)))


@lru_cache(maxsize=65536)
def _going_on(history: History) -> tuple[FloatArray, FloatArray]:
    """Give the sums of n standard normal values that go on, and their probabilities."""
    before, (n, z) = history[:-1], history[-1]
    half = min(z, _FAR) * math.sqrt(n)
    sums = half * _NODES
    if not before:
        density = np.exp(-0.5 * sums**2 / n) / math.sqrt(2 * math.pi * n)
    else:
        earlier, mass = _going_on(before)
        variance = n - before[-1][0]
        kernel = np.exp(-0.5 * (sums[:, None] - earlier[None, :]) ** 2 / variance)
        density = kernel @ mass / math.sqrt(2 * math.pi * variance)
    return sums, density * half * _WEIGHTS


UNIT = Statistic(
    description=Description(
        name="sequential_boundaries",
        title="Levels of the looks of a group-sequential test that spends its error",
        question="How sure must one look be for all looks together to be right?",
        source="Armitage, McPherson and Rowe 1969; Lan and DeMets 1983",
    ),
    methods=(level, spent),
)
