"""How do two cells differ in the mean, or far out? Ratios that a few slow runs move.

Source: Owen 2001; Efron and Tibshirani 1993.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.results.message import Message, message
from tare.statistics import checked
from tare.statistics.censored import has_killed, shift_between
from tare.statistics.comparison import require_ratios
from tare.statistics.inversion import edge, root
from tare.statistics.shift import allow_for_clock
from tare.statistics.statistic import FloatArray, Shift
from tare.statistics.tails import CARRYING, carrying, mean_refusal
from tare.statistics.ticks import Tick

#: Pairs below which no interval is given: what one run in twenty does is then often not seen.
FEWEST = 60
#: Pairs that must be expected beyond a quantile.
_BEYOND = 6
_RESAMPLES = 4999
#: Values resampled at once; bounds the memory of a bootstrap.
_CHUNK = 4_000_000


def pairs_needed(quantile: float | None) -> int:
    """Pairs from which on there is an interval; None: of the mean."""
    if quantile is None:
        return FEWEST
    return max(FEWEST, math.ceil(round(_BEYOND / min(quantile, 1 - quantile), 6)))


def pair_ratio(
    first: ArrayLike,
    second: ArrayLike,
    quantile: float | None = None,
    confidence: float = 0.95,
    *,
    tick: Tick = None,
    seed: int = 1,
    limits: checked.Limits = None,
) -> Shift:
    """Find the ratio of the means, or of a quantile, of two cells with common blocks.

    Parameters
    ----------
    first, second : array, shape (n,)
        Positive trial values; the i-th of both belong to one block.
    quantile : float, optional
        Between 0 and 1; the mean by default.
    confidence : float
        Of the interval. It holds for one look at an n that was decided beforehand.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    seed : int
        Of the resamples.
    limits : (array_like, array_like), optional
        What infinite values of each are known to exceed.

    Returns
    -------
    Shift
        Of the logarithm of the ratio second / first, without a p. Without bounds below
        :func:`pairs_needed`, and for means that :func:`mean_gate_refusal` refuses. Means of which
        a value is only known to exceed a limit are not known: NaN, without bounds.

    Raises
    ------
    InputError
        If some values are not positive.

    Notes
    -----
    What hits fewer runs than are seen cannot be seen: of 60 pairs 1 % of slow runs leave out one
    half of all samples.

    Of means the empirical likelihood, since a few slow runs make them skewed; of quantiles the
    percentile bootstrap of whole pairs.

    References
    ----------
    Owen, Empirical Likelihood, 2001, chapter 2; Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13.
    """
    checked.parameters(confidence=confidence)
    first, second = checked.pair(first, second, above=limits is not None)
    require_ratios(first, second, limits)
    above = checked.limits(limits, first, second)
    if above is None:
        return _pair_ratio(first, second, tick, quantile, confidence, seed)
    if quantile is None:
        return Shift(math.nan, None, None, math.nan, gap=math.inf)
    how = partial(_pair_ratio, quantile=quantile, confidence=confidence, seed=seed, outwards=True)
    found = shift_between(how, first, second, above, tick, logs=True)
    return replace(found, p=math.nan)


def _pair_ratio(
    first: FloatArray,
    second: FloatArray,
    tick: Tick,
    quantile: float | None,
    confidence: float,
    seed: int,
    *,
    outwards: bool = False,
) -> Shift:
    refused = quantile is None and mean_gate_refusal(first, second) is not None

    def measure(a: FloatArray, b: FloatArray) -> Shift:
        low, high = None, None
        if len(a) >= pairs_needed(quantile) and not refused:
            if quantile is None:
                low, high = _mean_bounds(a, b, confidence)
            else:
                low, high = _quantile_bounds(a, b, quantile, confidence, seed, outwards=outwards)
        of = np.mean if quantile is None else partial(np.quantile, q=quantile)
        return Shift(math.log(float(of(b) / of(a))), low, high, math.nan)

    return allow_for_clock(measure, first, second, tick)


def mean_gate_refusal(first: FloatArray, second: FloatArray) -> Message | None:
    """Say why the ratio of two means has no bounds although there are enough pairs.

    The mean is unknown where a value is only known to exceed a limit.

    Equal programs with rare slow runs otherwise differ too often [2 % of the runs ten times as
    long, 60 pairs: 41 %].
    """
    killed = sum(int(np.isposinf(values).sum()) for values in (first, second))
    if killed:
        return message(
            "the mean is not known: {killed | counted('run')} exceeded the time limit",
            killed=killed,
        )
    return next(filter(None, map(mean_refusal, (first, second))), None)


def pairs_for_mean(first: FloatArray, second: FloatArray) -> int | None:
    """Count further pairs after which enough slow runs are expected on each side.

    Returns
    -------
    int or None
        None where no number is known to be enough, as under a heavy tail.
    """
    if has_killed(first, second):
        return None
    fewest = min(carrying(first), carrying(second))
    if fewest >= CARRYING:
        return None
    return math.ceil(len(first) * (CARRYING / fewest - 1))


def _mean_bounds(a: FloatArray, b: FloatArray, confidence: float) -> tuple[float, float]:
    """Logarithms of the ratios r at which "b − r a has the mean 0" is just not refused."""
    most = float(special.fdtri(1, len(a) - 1, confidence))
    middle, ratios = float(b.mean() / a.mean()), b / a

    def refused(ratio: float) -> bool:
        return likelihood_ratio(b - ratio * a) > most

    low, high = (edge(refused, middle, float(end)) for end in (ratios.min(), ratios.max()))
    return math.log(low), math.log(high)


def likelihood_ratio(values: FloatArray) -> float:
    """−2 log of the empirical likelihood ratio of "the mean is 0"; infinite where it cannot be.

    Parameters
    ----------
    values : array, shape (n,)
    """
    n, low, high = len(values), float(values.min()), float(values.max())
    if low == high == 0:
        return 0.0
    if low >= 0 or high <= 0:
        return math.inf

    def score(multiplier: float) -> float:
        return float(np.sum(values / (1 + multiplier * values)))

    # Within these ends all weights are between 0 and 1; rounding may put the root onto one.
    least, most = (1 / n - 1) / high, (1 / n - 1) / low
    if score(least) <= 0 or score(most) >= 0:
        multiplier = least if score(least) <= 0 else most
    else:
        multiplier = root(score, least, most, within=2e-12)
    return 2 * float(np.sum(np.log1p(multiplier * values)))


def _quantile_bounds(
    a: FloatArray,
    b: FloatArray,
    quantile: float,
    confidence: float,
    seed: int,
    *,
    outwards: bool,
) -> tuple[float, float]:
    """Percentiles of the log-ratio over resamples of whole pairs."""
    rng, n = np.random.default_rng(seed), len(a)
    logs = []
    for _ in range(0, _RESAMPLES, step := max(1, min(_RESAMPLES, _CHUNK // n))):
        drawn = rng.integers(0, n, (step, n))
        one, two = (np.quantile(x[drawn], quantile, axis=1) for x in (a, b))
        logs.append(np.log(two / one))
    found, tail = np.concatenate(logs), (1 - confidence) / 2
    if not outwards:
        low, high = np.quantile(found, [tail, 1 - tail])
        return float(low), float(high)
    # No bound lies between a value and one that stands for an infinite one.
    ordered, last = np.sort(found), len(found) - 1
    return float(ordered[math.floor(tail * last)]), float(ordered[math.ceil((1 - tail) * last)])
