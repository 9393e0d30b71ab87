"""Values with their 95 % intervals: levels from their intervals, the rest by propagation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.experiment.fingerprints.network.identified import Estimate
from tare.features.network.identify.bursts import Plateau
from tare.networks.shaping.trace import QUANTUM_BITS
from tare.statistics.dependence import lag1
from tare.statistics.robust import robust_sd
from tare.statistics.statistic import FloatArray

GIGA = 1e9
#: Draws that an interval is propagated with.
DRAWS = 4000
#: Half of the narrowest interval, relative: files round, and clocks are no better.
_LEAST = 1e-4
#: Batches of a plateau whose scatter says how well its rate is known; where it is short fewer.
_BATCHES, _FEW_BATCHES = 12, 4
#: Seconds within which a rate is not read twice: what lies so near shares its noise.
SHARED_S = 0.1
_NORMAL = 1.96
#: Robust SDs at which a value is drawn in: a second of an outage is not the level.
_FAR = 3.0


@dataclass(frozen=True)
class Level:
    """The rate of a plateau: all that was carried, over all of its time.

    Attributes
    ----------
    value : float
        Bits a second.
    error : float
        Its standard error.
    reach : float
        Standard errors that a 95 % interval reaches.
    quantised : float
        By how much it may be off since acknowledgements come in pieces.
    noise : float
        Relative variance of what one interval carried, times how many of them vary together: of a
        sum of intervals it is the variance, as a share of the sum of their squares.
    """

    value: float
    error: float
    reach: float
    quantised: float
    noise: float

    @property
    def half(self) -> float:
        """Half the width of its 95 % interval."""
        # Pieces that are cut off at both ends are no chance.
        return max(self.reach * self.error, self.quantised)


def level(plateau: Plateau) -> Level:
    """Estimate the rate of a plateau, which is not empty.

    Notes
    -----
    Its error is that of batches, a dozen of them, each long against what neighbouring intervals
    share: a rate that is read often is not known better for it.
    """
    rates, seconds = plateau.rates, plateau.seconds
    total = float(seconds.sum())
    middle = float(np.median(rates))
    piece = QUANTUM_BITS / float(np.median(seconds))
    far = _FAR * max(robust_sd(rates, middle), min(piece, middle / 2))
    drawn = np.clip(rates, middle - far, middle + far)
    value = float(drawn @ seconds) / total
    quantised = QUANTUM_BITS * math.sqrt(plateau.runs) / total
    n = len(rates)
    if n == 1:
        return Level(value, middle, 12.7, quantised, 1.0)
    count = min(n, _BATCHES, max(_FEW_BATCHES, int(total / SHARED_S)))
    edges = np.unique(np.linspace(0, n, count + 1).astype(int))[:-1]
    lasts = np.add.reduceat(seconds, edges)
    means = np.add.reduceat(drawn * seconds, edges) / lasts
    k = len(means)
    weights = lasts / total
    spread = math.sqrt(float(((means - value) ** 2) @ weights) * k / (k - 1))
    # What batches still share, as far as so few of them show it: estimates of it are too small.
    shared = lag1(means) + 1 / k if k > 3 else 0.0
    tau = min(k / 2, (1 + shared) / (1 - shared)) if shared > 0 else 1.0
    error = spread * math.sqrt(tau / max(1.0, k - tau))
    reach = float(special.stdtrit(max(2.0, k / tau - 1), 0.975))
    noise = n * (error * reach / _NORMAL / value) ** 2 if value > 0 else 1.0
    return Level(value, error, reach, quantised, noise)


def of_level(plateau: Plateau) -> Estimate:
    """Estimate the rate of a plateau with its interval."""
    found = level(plateau)
    return estimate(found.value, max(0.0, found.value - found.half), found.value + found.half)


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
