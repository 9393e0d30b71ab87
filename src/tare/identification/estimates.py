"""Values with their 95 % intervals: levels from their intervals, the rest by propagation."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from tare.identification.document import Estimate
from tare.statistics.dependence import dependence_time, lag1
from tare.statistics.statistic import FloatArray

GIGA = 1e9
#: Draws that an interval is propagated with.
DRAWS = 4000
#: Half of the narrowest interval, relative: files round, and clocks are no better.
_LEAST = 1e-4
#: Robust SDs at which a value is drawn in: a second of an outage is not the level.
_FAR = 3.0


def level(values: FloatArray) -> tuple[float, float, float]:
    """Return a level, its standard error, and how many independent values it stands on."""
    middle = float(np.median(values))
    far = _FAR * 1.4826 * float(np.median(np.abs(values - middle)))
    drawn = np.clip(values, middle - far, middle + far)
    n = len(drawn)
    spread = float(np.clip(values, middle * 0.5, middle * 1.5).std()) if far == 0 else drawn.std()
    tau = dependence_time(drawn) if n > 3 and lag1(drawn) > 1 / math.sqrt(n) else 1.0
    tau = min(float(n), tau * (1 + 8 * tau / n))
    error = float(spread) * math.sqrt(tau / max(1.0, n - tau)) if n > 1 else middle
    return float(drawn.mean()), error, n / tau


def reach(independent: float) -> float:
    """Return how many standard errors a 95 % interval reaches: Student's t."""
    return float(stats.t.ppf(0.975, max(2.0, independent - 1)))


def of_level(values: FloatArray, unit: float = GIGA) -> Estimate:
    """Estimate a level."""
    value, error, independent = level(values)
    half = reach(independent) * error
    return estimate(value, max(0.0, value - half), value + half, unit)


def estimate(value: float, low: float, high: float, unit: float = GIGA) -> Estimate:
    """Make an estimate that contains its value, and is no better than can be claimed."""
    least = _LEAST * abs(value)
    low, high = min(low, value - least), max(high, value + least)
    return Estimate(value=value / unit, ci=(low / unit, high / unit))


def of_draws(value: float, draws: FloatArray, unit: float = GIGA) -> Estimate:
    """Estimate from what draws of everything that it depends on make of it."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return estimate(value, max(0.0, float(low)), float(high), unit)


def normal(value: float, error: float, number: int) -> FloatArray:
    """Draw a quantity; ``number`` tells independent ones apart."""
    rng = np.random.default_rng([1, number])
    return np.asarray(value + error * rng.standard_normal(DRAWS))
