"""Intervals of a quantile that hold however often one looks: a confidence sequence.

Source: Howard and Ramdas 2022; Robbins 1970.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import message
from tare.statistics import checked, phrases
from tare.statistics.intervals import Interval, widened

#: Trials that the mixture's prior is worth. It sets the n at which the sequence is narrowest
#: [ranks 1.35 times as far apart as those of one look at 97.5 % from 50 to 500 trials; 1.5 at
#: 5000. The uniform prior, 2 trials: 1.24 to 1.67].
PRIOR_TRIALS = 30.0


@lru_cache(maxsize=65536)
def sequence_ranks(n: int, q: float = 0.5, confidence: float = 0.95) -> tuple[int, int] | None:
    """Ranks of the two order statistics that enclose a quantile at every n at once.

    With k of n values at most the quantile, the likelihood ratio of a Beta mixture against q,
    B(a + k, b + n − k) / (B(a, b) q^k (1 − q)^(n − k)), is a martingale that begins at 1: that it
    ever exceeds 1/α has probability α at most (Ville).

    Parameters
    ----------
    n : int
        Number of exchangeable values.
    q : float
        The quantile, between 0 and 1.
    confidence : float
        Of all n together, for any distribution.

    Returns
    -------
    (int, int) or None
        Ranks from 1 to n; None if n is too small.

    References
    ----------
    Howard and Ramdas, Sequential estimation of quantiles with applications to A/B testing and
    best-arm identification, Bernoulli 28(3), 2022; Robbins 1970 for the mixture.
    """
    from scipy import special  # of those who ask for it alone

    a, b = PRIOR_TRIALS * q, PRIOR_TRIALS * (1 - q)
    k = np.arange(n + 1)
    log_ratio = (
        special.betaln(a + k, b + n - k)
        - special.betaln(a, b)
        - k * math.log(q)
        - (n - k) * math.log1p(-q)
    )
    possible = np.flatnonzero(log_ratio < -math.log(1 - confidence))
    low, high = int(possible[0]), int(possible[-1]) + 1
    return (low, high) if low >= 1 and high <= n else None


def sequence_interval(
    values: ArrayLike, q: float = 0.5, confidence: float = 0.95, tick: float | None = None
) -> Interval:
    """Interval of a quantile that may be looked at after every trial.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values, exchangeable: in no order that matters, such as restarted, randomised
        trials. Where neighbours remember each other it does not cover.
    q : float
        The quantile; the median by default.
    confidence : float
        That the quantile lies within the intervals at all n.
    tick : float, optional
        As for :func:`tare.statistics.intervals.quantile_interval`.

    Returns
    -------
    Interval
        Without bounds, and with the refusal, where n is too small.
    """
    checked.parameters(q=q, confidence=confidence)
    values = checked.series(values, least=0)
    checked.tick(tick)
    n = len(values)
    estimate = float(np.quantile(values, q)) if n else math.nan
    method = "confidence sequence"
    ranks = sequence_ranks(n, q, confidence) if n else None
    if ranks is None:
        refusal = message(phrases.FEW, n=n, needs=_sequence_needs(q, confidence))
        return Interval(estimate, None, None, confidence, method, n, refusal)
    ordered = np.sort(values)
    low, high = float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])
    return widened(Interval(estimate, low, high, confidence, method, n), values, tick)


def _sequence_needs(q: float, confidence: float) -> int:
    n = 1
    while sequence_ranks(n, q, confidence) is None:
        n += 1
    return n
