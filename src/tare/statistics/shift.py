"""By how much do two samples differ? Shifts with intervals, paired or not, for any clock.

Source: Hodges and Lehmann 1963; Brunner and Munzel 2000; Geyer 1992.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.statistics import checked
from tare.statistics.brunner_munzel import (
    brunner_munzel_interval,
    brunner_munzel_p,
    median_difference,
)
from tare.statistics.censored import shift_between
from tare.statistics.dependence import padded, unpadded_times
from tare.statistics.exact import ranks
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval, signed_rank_p
from tare.statistics.statistic import FloatArray, Shift
from tare.statistics.ticks import Tick, ticks_of

#: Independent pairs below which pairs that depend on each other decide nothing.
FEWEST_INDEPENDENT = 10
#: Times the widening: pairs from which a widened signed-rank interval exists.
_RANKS_NEED = 8
#: Pairs whose order says how much neighbours resemble each other.
_FEWEST_FOR_TIME = 6
#: Times the SD within n pairs over √n: beyond it AR(.9) brings their mean in 1 %.
_STRONGEST = 20.5
#: Share of a value below which a tick is not looked at.
_NO_MATTER = 1e-6


#: How two samples are measured against each other.
Measure = Callable[[FloatArray, FloatArray], Shift]


def paired_shift(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float = 0.95,
    *,
    logs: bool = False,
    dependence: float | None = None,
    tick: Tick = None,
    limits: checked.Limits = None,
) -> Shift:
    """Find the shift between samples of common blocks.

    Parameters
    ----------
    first, second : array, shape (n,)
        The i-th of both belong to one block.
    confidence : float
        Of the interval.
    logs : bool
        Whether logarithms are subtracted, for values that have a ratio.
    dependence : float, optional
        Pairs that are worth one independent pair, see :func:`pair_dependence`, where nobody knows
        whether a coin flip chose the order within each block. Below ten independent pairs only
        what no memory explains is told: the interval is as wide as AR(.9) asks.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    limits : (array_like, array_like), optional
        What infinite values of each are known to exceed; see :mod:`tare.statistics.censored`.
    """
    checked.parameters(confidence=confidence)
    first, second = checked.pair(first, second, above=limits is not None)
    how = partial(_paired_shift, confidence=confidence, logs=logs, dependence=dependence)
    return _within_limits(how, first, second, tick, limits, logs=logs)


def _within_limits(
    how: Callable[[FloatArray, FloatArray, Tick], Shift],
    first: FloatArray,
    second: FloatArray,
    tick: Tick,
    limits: checked.Limits,
    *,
    logs: bool,
) -> Shift:
    """Measure a shift, or bound it where some values are only known to exceed a limit."""
    checked.tick(tick)
    above = checked.limits(limits, first, second)
    if above is None:
        return how(first, second, tick)
    return shift_between(how, first, second, above, tick, logs=logs)


def _paired_shift(
    first: FloatArray,
    second: FloatArray,
    tick: Tick,
    confidence: float,
    logs: bool,
    dependence: float | None,
) -> Shift:
    n = len(first)
    fewest = 0 if dependence is None else pairs_for_ranks(dependence, confidence)
    widening = 1.0 if dependence is None else float(padded(np.array(dependence), n))

    def measure(a: FloatArray, b: FloatArray) -> Shift:
        d = _logs(b) - _logs(a) if logs else b - a
        bounds = None if n < fewest else signed_rank_interval(d, confidence, widening)
        if bounds is not None:
            return Shift(hodges_lehmann(d), *bounds, signed_rank_p(d, widening))
        if dependence is not None and n >= _FEWEST_FOR_TIME:
            return _beyond_memory(d, confidence)
        return Shift(hodges_lehmann(d), None, None, 1.0)

    return replace(allow_for_clock(measure, first, second, tick), fewest=fewest)


def pairs_for_ranks(dependence: float, confidence: float = 0.95) -> int:
    """Count the pairs from which ranks tell a shift of pairs that depend on each other.

    Parameters
    ----------
    dependence : float
        Pairs that are worth one independent pair.
    confidence : float
        Of the interval.

    Returns
    -------
    int
        At least ten independent pairs; and so many that an interval that is widened for what few
        pairs hide still ends at one of them.
    """
    need = _RANKS_NEED * float(special.ndtri(0.5 + confidence / 2) / special.ndtri(0.975)) ** 2
    # The n from which n = need × padded(dependence, n).
    widened = dependence * (need + math.sqrt(need * (need + 32))) / 2
    return math.ceil(max(FEWEST_INDEPENDENT * dependence, widened))


def _beyond_memory(d: FloatArray, confidence: float) -> Shift:
    """Shift of pairs too few to estimate their dependence from, were it that of AR(.9).

    The mean in units of the SD within so few pairs has longer tails than Student's t with 5
    degrees of freedom [99 and 99.9 % of 40,000 series of 8 to 30 pairs are below 20 and 31/√n].
    """
    n, mean, sd = len(d), float(d.mean()), float(d.std(ddof=1))
    unit = _STRONGEST / math.sqrt(n) / float(special.stdtrit(5, 0.975)) * sd
    half = unit * float(special.stdtrit(5, 0.5 + confidence / 2))
    p = 2 * float(special.stdtr(5, -abs(mean) / unit)) if unit else float(mean == 0)
    middle = hodges_lehmann(d)
    return Shift(middle, min(middle, mean - half), max(middle, mean + half), p)


def unpaired_shift(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float = 0.95,
    *,
    logs: bool = False,
    dependence: float = 1.0,
    tick: Tick = None,
    limits: checked.Limits = None,
) -> Shift:
    """Find the shift between samples without common blocks, whose spread and shape may differ.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
    confidence, logs, tick, limits
        As for :func:`paired_shift`.
    dependence : float
        Trials that are worth one independent trial, the larger of the two; widens the interval.
    """
    checked.parameters(confidence=confidence)
    first, second = checked.apart(first, second, above=limits is not None)
    how = partial(_unpaired_shift, confidence=confidence, logs=logs, dependence=dependence)
    return _within_limits(how, first, second, tick, limits, logs=logs)


def _unpaired_shift(
    first: FloatArray,
    second: FloatArray,
    tick: Tick,
    confidence: float,
    logs: bool,
    dependence: float,
) -> Shift:
    def measure(a: FloatArray, b: FloatArray) -> Shift:
        one, two = (np.sort(_logs(x) if logs else x) for x in (a, b))
        found = brunner_munzel_interval(one, two, confidence, dependence)
        if found is None:
            return Shift(median_difference(one, two), None, None, 1.0)
        return Shift(*found, brunner_munzel_p(one, two, dependence))

    return allow_for_clock(measure, first, second, tick)


def _logs(values: FloatArray) -> FloatArray:
    """Logarithms; what a tick that is longer than a value leaves of it is next to nothing."""
    return np.asarray(np.log(np.maximum(values, np.finfo(float).tiny)))


def allow_for_clock(
    measure: Measure, first: FloatArray, second: FloatArray, tick: Tick = None
) -> Shift:
    """Measure two samples that one clock timed, and allow for what it could not tell.

    Parameters
    ----------
    measure : callable
        How they are measured as recorded.
    first, second : array
        Recorded values.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.

    Returns
    -------
    Shift
        With the hull of the bounds that true values recorded so may have, be they all rounded or
        all cut off; without bounds where all values are equal and the tick is not known.
    """
    recorded = measure(first, second)
    ticks = ticks_of(first, second, tick)
    if ticks is None:
        return replace(recorded, low=None, high=None, p=1.0, tick=None)
    if recorded.low is None or not _matter(ticks, first):
        return replace(recorded, tick=max(ticks))
    one, two = ticks
    # Both cut off, both rounded; of two clocks one may cut off while the other rounds.
    ways = [(one, 0.0, 0.0, two), (one / 2, two / 2, one / 2, two / 2)]
    if one != two:
        ways = [(one, two / 2, one / 2, two)]
    lowest = [measure(first + up, second - down) for up, down, _, _ in ways]
    highest = [measure(first - down, second + up) for _, _, down, up in ways]
    p = 1.0
    if min(s.middle for s in lowest) > 0:
        p = max(s.p for s in lowest)
    elif max(s.middle for s in highest) < 0:
        p = max(s.p for s in highest)
    return Shift(
        recorded.middle,
        min((s.low for s in lowest if s.low is not None), default=None),
        max((s.high for s in highest if s.high is not None), default=None),
        p,
        max(ticks),
    )


def pair_dependence(first: ArrayLike, second: ArrayLike) -> float:
    """Count the pairs that are worth one independent pair, by the ranks of their log-ratios.

    By Geyer's initial positive sequence; 1 where neighbours correlate no more than by chance.

    Parameters
    ----------
    first, second : array, shape (n,)
        In order of time; the i-th of both belong to one block. Differences take the place of
        log-ratios where some values are not positive.
    """
    first, second = checked.pair(first, second)
    if len(first) < _FEWEST_FOR_TIME:
        return 1.0
    d = np.log(second) - np.log(first) if has_ratio(first, second) else second - first
    return float(unpadded_times(ranks(d[None]))[0])


def clock_matters(first: FloatArray, second: FloatArray, tick: Tick = None) -> bool:
    """Whether the clock is so coarse, or so unknown, that :func:`allow_for_clock` has to."""
    ticks = ticks_of(first, second, tick)
    return ticks is None or _matter(ticks, first)


def _matter(ticks: tuple[float, float], values: FloatArray) -> bool:
    return max(ticks) > _NO_MATTER * float(np.median(np.abs(values)))


def has_ratio(first: FloatArray, second: FloatArray) -> bool:
    """Whether all values are above zero, and finite."""
    return all(bool(((x > 0) & np.isfinite(x)).all()) for x in map(np.asarray, (first, second)))
