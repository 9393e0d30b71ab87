"""Do trials use up what later ones need? Values beside what each trial began with.

Source: CLOUDNET, Figure 19; Spearman 1904; Hodges and Lehmann 1963.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.statistics import checked
from tare.statistics.brunner_munzel import brunner_munzel_interval
from tare.statistics.changes import changes, remaining
from tare.statistics.exact import standard_ranks
from tare.statistics.intervals import Interval, quantile_interval, trials_needed
from tare.statistics.order import order_of
from tare.statistics.statistic import FloatArray

#: Trials below which their order says nothing at 5 %, shared by a few levels.
FEWEST = 6
#: CLOUDNET's error bounds around a median (Figure 19).
BOUND = 0.10
#: Up to so many all orders are looked at.
_EXACT = 8
#: From so many trials on thirds are compared, below halves; and what either needs for an interval.
_THIRDS, _HALVES = 18, 12


@dataclass(frozen=True)
class Following:
    """Whether values are larger where something else is.

    Attributes
    ----------
    correlation : float
        Spearman's, −1 to 1.
    p : float
        Of a correlation at least as large, if trials are exchangeable; one-sided.
    n : int
        Trials.
    """

    correlation: float
    p: float
    n: int


@dataclass(frozen=True)
class Depletion:
    """What became of the values as tokens were used up.

    Attributes
    ----------
    following : Following
        Of the values and the tokens that were gone when each trial began.
    ratio : float or None
        Of the trials that began with the fewest tokens to those that began with the most.
    low, high : float or None
        95 % bounds of the ratio; None where there are too few trials.
    """

    following: Following
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Early:
    """What the first trials said, and what all of them say.

    Attributes
    ----------
    n, of : int
        First trials looked at, and all.
    median, low, high : float
        Of the first trials; the interval is at 95 %.
    at_last : float
        Median of all.
    narrowing : float
        Width of the interval of all over that of the first: below 1 where more trials helped.
    """

    n: int
    of: int
    median: float
    low: float
    high: float
    at_last: float
    narrowing: float

    @property
    def missed(self) -> bool:
        """Whether the median of all lies outside the interval of the first."""
        return not self.low <= self.at_last <= self.high

    @property
    def off(self) -> float:
        """How far the median of all is from that of the first, relative to it."""
        return self.at_last / self.median - 1


def follows(values: FloatArray, cause: FloatArray) -> Following | None:
    """Test whether values are larger where a cause is.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    cause : array, shape (n,)
        Of the same trials.

    Returns
    -------
    Following or None
        None below 6 trials, or where either is the same in all of them.

    Notes
    -----
    Of ranks, so that it holds for any distribution: up to 8 trials by all of their orders, beyond
    by Student's t [15 to 40 trials: 5.0 to 5.1 % where 5 % are allowed], and by that of fewer
    trials where neighbouring ones resemble each other.
    """
    n = len(values)
    if n < FEWEST or np.ptp(values) == 0 or np.ptp(cause) == 0:
        return None
    x, y = standard_ranks(values), standard_ranks(cause)
    seen = float(x @ y)
    tau = _dependence(values)
    if n <= _EXACT:
        p = float(np.mean(x[_orders(n)] @ y >= seen - 1e-12))
    else:
        free = max(1.0, (n - 2) / tau)
        t = seen * math.sqrt(free / max(1 - seen**2, 1e-300))
        p = float(special.stdtr(free, -t))
    return Following(seen, p, n)


@lru_cache(maxsize=4)
def _orders(n: int) -> np.ndarray:
    return np.array(list(permutations(range(n))))


def _dependence(values: FloatArray) -> float:
    """Trials that are worth one independent trial, beside the change that is looked for."""
    order = order_of(values)
    if order is None or not order.remembers:
        return 1.0
    left = remaining(order, changes(values, order=order))
    return left.tau if left.remembers else 1.0


def depletion(values: ArrayLike, tokens: ArrayLike) -> Depletion | None:
    """Compare trials that began with few tokens with those that began with many.

    Parameters
    ----------
    values : array, shape (n,)
        Positive, in order of time: times, or their ratios to those of a reference in the same
        block, from which what happened to the machine meanwhile is gone.
    tokens : array, shape (n,)
        Left when each trial began; where nobody knows, anything that falls from trial to trial.

    Returns
    -------
    Depletion or None
        None where :func:`follows` says nothing.
    """
    values, tokens = checked.pair(values, tokens, ("values", "tokens"))
    checked.positive(values)
    logs = np.log(values)
    found = follows(logs, -tokens)
    if found is None:
        return None
    n = len(values)
    size = n // 3 if n >= _THIRDS else n // 2
    order = np.argsort(-tokens, kind="stable")
    most, fewest = logs[np.sort(order[:size])], logs[np.sort(order[n - size :])]
    shift = None
    if n >= _HALVES:
        shift = brunner_munzel_interval(most, fewest, dependence=_dependence(logs))
    if shift is None:
        return Depletion(found, float(np.exp(np.median(fewest) - np.median(most))), None, None)
    ratio, low, high = (math.exp(x) for x in shift)
    return Depletion(found, ratio, low, high)


def early(values: FloatArray) -> Early | None:
    """Put what the first quarter of the trials said beside what all of them say.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.

    Returns
    -------
    Early or None
        None where all are not at least twice as many as a median's interval needs.

    References
    ----------
    CLOUDNET, Figure 19.
    """
    n, least = len(values), trials_needed()
    first = max(least, math.ceil(n / 4))
    if n < 2 * least:
        return None
    a, b = quantile_interval(values[:first]), quantile_interval(values)
    low, high = _bounds(a)
    width = high - low
    narrowing = float(np.diff(_bounds(b))[0]) / width if width > 0 else math.inf
    return Early(first, n, a.estimate, low, high, b.estimate, narrowing)


def _bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high
