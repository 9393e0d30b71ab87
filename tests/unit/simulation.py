"""What simulations share: how many replicates, and how often an event may be seen in them.

A rate claimed as "at most r" fails beyond the 99th percentile of a binomial with r. Fewer
replicates fail no more often, and notice less. Noticed with power 0.95, where the claim is 5 %:
a true rate of 8.1 % in 1,000 replicates, 7.1 % in 2,000, 6.5 % in 4,000, 5.6 % in 20,000.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize, stats
from scipy.signal import lfilter

#: In nightly simulations that do not say otherwise.
REPLICATES = 4_000
POWER = 0.95
Draw = Callable[[np.random.Generator, int], np.ndarray]


def at_most(events: int, rate: float, replicates: int = REPLICATES) -> bool:
    return bool(events <= stats.binom.ppf(0.99, replicates, rate))


def at_least(events: int, rate: float, replicates: int = REPLICATES) -> bool:
    return bool(events >= stats.binom.ppf(0.01, replicates, rate))


def noticed(rate: float, replicates: int = REPLICATES) -> float:
    """Return the smallest true rate that `at_most` refuses with a probability of `POWER`."""
    most = stats.binom.ppf(0.99, replicates, rate)
    return float(
        optimize.brentq(lambda true: stats.binom.sf(most, replicates, true) - POWER, rate, 1.0)
    )


def autoregressive(rho: float) -> Draw:
    """Return a stationary first-order autoregressive process of mean 0 and SD 1."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
        return np.asarray(lfilter([1], [1, -rho], noise)[300:])

    return draw
