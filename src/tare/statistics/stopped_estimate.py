"""Median-unbiased estimate of a shift when interim analyses decided how many pairs it rests on.

Source: Emerson and Fleming 1990; Jennison and Turnbull 2000, chapter 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.statistics.inversion import root
from tare.statistics.statistic import FloatArray

#: Points of the quadrature over the estimates at which a comparison continues.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
#: Standard errors around the plain estimate in which the median-unbiased one is searched for.
_REACH = 3.0
#: Standard errors of an analysis around the plain estimate beyond which a range is cut: further
#: away there is no mass for any shift that is searched for, and nodes stand too far apart.
_CUT = _REACH + 5.0
#: Largest error of the result, in standard errors.
_WITHIN = 1e-4


@dataclass(frozen=True)
class Continued:
    """An interim analysis at which the comparison continued.

    Attributes
    ----------
    n : int
        Pairs.
    low, high : float
        Ends of the range of estimates around the one seen at which it would have continued, too.
    """

    n: int
    low: float
    high: float


def median_unbiased(
    estimate: float, n: int, error_of_one: float, before: Sequence[Continued]
) -> float:
    """Correct an estimate for the interim analyses before it.

    A comparison stops early where its estimate happens to be large, so the plain estimate at the
    stop is too large on average. This one is the shift for which results beyond those seen have
    the probability 1/2. Results are ordered by stages: a stop above the range in which the
    comparison continued is larger than all that follow a continuation, and a stop below it is
    smaller.

    Parameters
    ----------
    estimate : float
        Hodges–Lehmann estimate of all n pairs.
    n : int
        Pairs at the last analysis.
    error_of_one : float
        Standard error of the estimate times √n.
    before : sequence of Continued
        The analyses before, in order.

    Returns
    -------
    float
        The plain estimate if there was no analysis before, and where the ranges do not fit the
        standard error, as with a few log-ratios that lie far out: no shift in reach is the one.

    Notes
    -----
    Estimates at n pairs are taken as normal with the variance error_of_one²/n and independent
    increments. Adding a constant to all log-ratios moves estimates and intervals by as much, so
    the ranges are exact for log-ratios that lie around the shift as these do.
    """
    if not before or not error_of_one > 0:
        return estimate
    information = np.array([one.n for one in before] + [n]) / error_of_one**2
    centre = _centre(before[-1], estimate)
    # Sums: estimate times information, as distances from those of the shift ``centre``.
    sums = np.empty((len(before), len(_NODES)))
    mass = np.empty_like(sums)
    ends = np.empty(len(before) + 1)
    ends[-1] = (estimate - centre) * information[-1]
    for k, one in enumerate(before):
        middle, far = (estimate - centre) * information[k], _CUT * math.sqrt(information[k])
        low = max((one.low - centre) * information[k], middle - far)
        high = min((one.high - centre) * information[k], middle + far)
        if low >= high:
            return estimate
        ends[k] = high
        half = (high - low) / 2
        sums[k] = (low + high) / 2 + half * _NODES
        mass[k] = half * _WEIGHTS * _density(sums, mass, information, k)
    steps = np.diff(information)[:, None]
    errors, error_of_first = np.sqrt(steps), math.sqrt(information[0])
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)

    def excess(shift: float) -> float:
        """Probability of a result at or above the one seen, less 1/2."""
        drift = shift - centre
        first = float(special.ndtr((drift * information[0] - ends[0]) / error_of_first))
        # A single factor may overflow where the product, a probability, is at most 1.
        tilted = log_mass + drift * sums - drift**2 * information[:-1, None] / 2
        later = special.ndtr((sums + drift * steps - ends[1:, None]) / errors)
        return first + float(np.sum(np.exp(np.minimum(tilted, 0.0)) * later)) - 0.5

    reach = _REACH / math.sqrt(information[-1])
    low, high = estimate - reach, estimate + reach
    if not excess(low) < 0 < excess(high):
        return estimate
    return root(excess, low, high, within=_WITHIN / math.sqrt(information[-1]))


def _centre(last: Continued, estimate: float) -> float:
    """Return a shift near all ranges, around which densities neither vanish nor overflow."""
    finite = [end for end in (last.low, last.high) if math.isfinite(end)]
    return sum(finite) / len(finite) if finite else estimate


def _density(sums: FloatArray, mass: FloatArray, information: FloatArray, k: int) -> FloatArray:
    """Density of the sums of stage k where the comparison continued at all stages before."""
    variance = information[k] - (information[k - 1] if k else 0.0)
    norm = math.sqrt(2 * math.pi * variance)
    if not k:
        return np.asarray(np.exp(-0.5 * sums[0] ** 2 / variance) / norm)
    kernel = np.exp(-0.5 * (sums[k][:, None] - sums[k - 1][None, :]) ** 2 / variance)
    return np.asarray(kernel @ mass[k - 1] / norm)
