"""Intervals of one cell's trial values: median and other quantiles, and the p10–p90 range.

Source: Le Boudec 2010, chapter 2; Efron and Tibshirani 1993; Clopper and Pearson 1934.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tare.errors import ValuesError
from tare.results.message import Message, message
from tare.statistics import checked, phrases
from tare.statistics.exact import binomial_quantile
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import tick_of

#: Below this many trials no interval of the p10–p90 range is given: its ends are then the two
#: most extreme values [n = 12: equal cells differ in 5 to 12 %, where 5 % are allowed].
FEWEST_FOR_RANGE = 20
RESAMPLES = 1999
#: Values resampled at once; bounds the memory of a bootstrap.
_CHUNK = 4_000_000
#: Numbers of values too few for a 95 % interval of the median, whose extremes are one at their own
#: level.
_EXTREMES = range(3, 6)
#: Ratio of the sides of an interval up to which it is written with ±.
_SYMMETRIC = 1.2


def share_interval(times: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of the chance of something that happened in some of n trials.

    Parameters
    ----------
    times, n : int
        ``0 ≤ times ≤ n``, and n above 0.
    confidence : float
        Coverage is at least this for independent trials.

    References
    ----------
    Clopper and Pearson 1934.
    """
    from scipy import special  # which a session that only measures does without

    tail = (1 - confidence) / 2
    low = float(special.betaincinv(times, n - times + 1, tail)) if times else 0.0
    high = float(special.betaincinv(times + 1, n - times, 1 - tail)) if times < n else 1.0
    return low, high


@dataclass(frozen=True)
class Interval:
    """An estimate and how far it can be trusted.

    Attributes
    ----------
    estimate : float
        In the unit of the values.
    low, high : float or None
        None where n is too small for an interval; ``refusal`` then says so.
    confidence : float
        Nominal coverage.
    method : str
        How the interval came about.
    n : int
        Trials behind it.
    refusal : Message or None
        Why there is no interval, and how many trials there must be.
    tick : float
        By how much the clock could not tell values apart; the bounds allow for it.
    early : bool
        Whether the series stopped early: so few trials show nothing of other sessions.
    above : float or None
        Limit that some of the values are only known to exceed, in the unit of the values. The
        estimate is infinite where it is above it too, and so is an upper bound. None: all values
        are known.
    """

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    method: str
    n: int
    refusal: Message | None = None
    tick: float = 0.0
    early: bool = False
    above: float | None = None

    def refused(self, why: Message) -> Interval:
        """Return the estimate alone, with the reason why nothing is known of its precision."""
        return replace(self, low=None, high=None, refusal=why)

    @property
    def drawn(self) -> tuple[float, float | None, float | None]:
        """Estimate and bounds, with the limit in place of what is only known to exceed it."""
        above = math.inf if self.above is None else self.above
        high = None if self.high is None else min(self.high, above)
        return min(self.estimate, above), self.low, high

    @property
    def half_width(self) -> float | None:
        """Larger distance of the two bounds from the estimate, relative to the estimate.

        None without an interval, and where it is open.
        """
        if self.low is None or self.high is None or self.estimate == 0:
            return None
        if math.isinf(self.high):
            return None
        return max(self.estimate - self.low, self.high - self.estimate) / abs(self.estimate)

    @property
    def is_asymmetric(self) -> bool:
        """Whether one side is longer than the other by more than a fifth: ± would mislead."""
        if self.low is None or self.high is None or math.isinf(self.high):
            return False
        below, above = self.estimate - self.low, self.high - self.estimate
        return max(below, above) > _SYMMETRIC * min(below, above)


def trials_for(interval: Interval, precision: float) -> int | None:
    """Estimate how many trials give an interval of a relative half-width, rounded to two digits.

    Widths, less what the clock's tick adds, are taken to fall as the root of the number of trials.

    Parameters
    ----------
    interval : Interval
        Has both bounds; its ``n`` is the number of trials.
    precision : float
        Half-width of the longer side, relative to the estimate.

    Returns
    -------
    int or None
        None without bounds or with an open one, where the tick alone is wider, and around an
        estimate of 0.
    """
    low, high, middle, tick = interval.low, interval.high, interval.estimate, interval.tick
    room = precision * abs(middle)
    if low is None or high is None or not math.isfinite(high) or room <= tick:
        return None
    below = (middle - low - tick / 2) / (room - tick / 2)
    above = (high - middle - tick) / (room - tick)
    return _two_digits(interval.n * max(below, above) ** 2)


def more_trials_for(interval: Interval, precision: float) -> int | None:
    """Estimate how many more trials give a precision; as :func:`trials_for`, at least 1."""
    trials = trials_for(interval, precision)
    return None if trials is None else _two_digits(max(1, trials - interval.n))


def _two_digits(number: float) -> int:
    """Round up to two digits."""
    step = 10.0 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return int(math.ceil(number / step) * step)


def widened(interval: Interval, values: FloatArray, tick: float | None = None) -> Interval:
    """Move the bounds of a quantile apart by what the clock could not tell.

    A value that was recorded with a tick d is known to within d/2 where it was rounded, and to
    within d above where it was cut off; which of the two nobody knows. Recording keeps the order
    of values: order statistics of what was recorded, moved by so much, enclose what those of the
    true values do.

    Parameters
    ----------
    interval : Interval
        Of recorded values.
    values : array, shape (n,)
        The recorded values.
    tick : float, optional
        What is known of the tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    Interval
        With the tick; without bounds, and with the refusal, where all values are equal and the
        tick is not known.
    """
    if interval.low is None or interval.high is None:
        return interval
    tick = tick_of(values, tick)
    if tick is None:
        return replace(interval, low=None, high=None, refusal=_equal(interval.n))
    # What is never negative is not negative between two ticks either.
    least = 0.0 if interval.low >= 0 else -math.inf
    low, high = max(least, interval.low - tick / 2), interval.high + tick
    return replace(interval, low=low, high=high, tick=tick)


def quantile_ranks(
    n: int, q: float = 0.5, confidence: float = 0.95, widening: float = 1.0
) -> tuple[int, int] | None:
    """Ranks of the two order statistics that enclose a quantile.

    Parameters
    ----------
    n : int
        Number of independent values.
    q : float
        The quantile, between 0 and 1.
    confidence : float
        At least this coverage, for any continuous distribution.
    widening : float
        Factor on the distance of both ranks from n q: the root of the dependence time, for
        values that are not independent.

    Returns
    -------
    (int, int) or None
        Ranks from 1 to n; None if n is too small.

    References
    ----------
    Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, chapter 2.
    """
    alpha = 1 - confidence
    low = float(binomial_quantile(alpha / 2, n, q))
    high = float(binomial_quantile(1 - alpha / 2, n, q)) + 1
    if widening != 1:
        middle = n * q + 0.5
        low = math.floor(middle - widening * (middle - low))
        high = math.ceil(middle + widening * (high - middle))
    return (int(low), int(high)) if low >= 1 and high <= n else None


@lru_cache(maxsize=256)
def trials_needed(q: float = 0.5, confidence: float = 0.95) -> int:
    """Smallest n for which a quantile has an interval (median at 95 %: 6).

    Raises
    ------
    InputError
        If the quantile is not between 0 and 1, or the confidence is not.
    """
    if not (0 < q < 1 and 0 < confidence < 1):
        raise ValuesError(
            f"no number of trials gives the quantile {q:g} an interval of {confidence:g}",
            "both must lie between 0 and 1, as 0.99 and 0.95",
        )
    # All n values on one side of the quantile must be rarer than half of what may be missed.
    n = max(1, math.floor(math.log((1 - confidence) / 2) / math.log(max(q, 1 - q))) - 1)
    while quantile_ranks(n, q, confidence) is None:
        n += 1
    return n


def quantile_interval(
    values: ArrayLike, q: float = 0.5, confidence: float = 0.95, tick: float | None = None
) -> Interval:
    """Exact order-statistic interval of a quantile, widened by the clock's tick.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values.
    q : float
        The quantile; the median by default.
    confidence : float
        Coverage is at least this for independent values of any distribution, however coarsely
        they were recorded.
    tick : float, optional
        What is known of the tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    Interval
        Without bounds, and with the refusal, where n is too small, or where all values are equal
        and the tick is not known.
    """
    checked.parameters(q=q, confidence=confidence)
    values = checked.series(values)
    checked.tick(tick)
    n = len(values)
    estimate = float(np.quantile(values, q))
    method = "order statistics"
    ranks = quantile_ranks(n, q, confidence)
    if ranks is None:
        needs = trials_needed(q, confidence)
        refusal = message(phrases.FEW, n=n, needs=needs)
        return Interval(estimate, None, None, confidence, method, n, refusal)
    ordered = np.sort(values)
    low, high = float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])
    return widened(Interval(estimate, low, high, confidence, method, n), values, tick)


def extremes_interval(values: FloatArray) -> Interval | None:
    """Interval of the median of 3 to 5 values, from the least to the largest.

    The median lies outside only where all n values are on one side of it: its confidence is
    1 − 2^(1 − n), which is 75, 87.5 and 93.75 %.

    Parameters
    ----------
    values : array, shape (n,)

    Returns
    -------
    Interval or None
        None for other numbers of values, and where one is only known to be above a limit.
    """
    n = len(values)
    if n not in _EXTREMES or not np.all(np.isfinite(values)):
        return None
    low, high = float(np.min(values)), float(np.max(values))
    return Interval(float(np.median(values)), low, high, 1 - 2.0 ** (1 - n), "extremes", n)


def p10_p90(values: FloatArray) -> FloatArray:
    """Distance from the 10th to the 90th percentile (Hazen's definition) along the last axis."""
    ordered = np.sort(values, axis=-1)  # many times faster than np.quantile on short rows
    return np.asarray(_percentile(ordered, 0.9) - _percentile(ordered, 0.1))


def p10_and_p90(values: FloatArray) -> tuple[float, float]:
    """Return the 10th and the 90th percentile (Hazen's definition) of some values.

    Infinite where a value that is only known to exceed a limit takes part in them.
    """
    ordered = np.sort(values)
    with np.errstate(invalid="ignore"):
        ends = _percentile(ordered, 0.1), _percentile(ordered, 0.9)
    # Interpolating between two infinite values gives NaN.
    low, high = (math.inf if np.isnan(end) else float(end) for end in ends)
    return low, high


def _percentile(ordered: FloatArray, q: float) -> FloatArray:
    n = ordered.shape[-1]
    return between_ranks(ordered, min(max(n * q - 0.5, 0.0), n - 1.0))


def between_ranks(ordered: FloatArray, place: float) -> FloatArray:
    """Interpolate at a place, counted from 0, of values in ascending order along the last axis."""
    below = int(place)
    above = min(below + 1, ordered.shape[-1] - 1)
    low, high = ordered[..., below], ordered[..., above]
    return np.asarray(low + (place - below) * (high - low))


def range_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    seed: int = 1,
    resamples: int = RESAMPLES,
    tick: float | None = None,
) -> Interval:
    """Interval of the p10–p90 range by the percentile bootstrap over whole trials.

    Parameters
    ----------
    values : array, shape (n,) or (n, workers)
        One value a trial, or one a worker: the range is then that of single workers' values,
        and a trial is drawn with all of its workers.
    confidence : float
    seed, resamples : int
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`. Each end of
        the range is known to one tick.

    Returns
    -------
    Interval
        Without bounds, and with the refusal, below 20 trials, or where all values are equal and the
        tick is not known.
    """
    checked.parameters(confidence=confidence)
    values = checked.series(values, most_dimensions=2)
    checked.tick(tick)
    n = len(values)
    estimate = float(p10_p90(values.ravel()))
    method = "percentile bootstrap of trials"
    if n < FEWEST_FOR_RANGE:
        refusal = message(phrases.FEW, n=n, needs=FEWEST_FOR_RANGE)
        return Interval(estimate, None, None, confidence, method, n, refusal)
    draws = np.random.default_rng(seed).integers(0, n, (resamples, n))
    low, high = percentile_bounds(resampled_ranges(values, draws), estimate, confidence)
    return apart(Interval(estimate, low, high, confidence, method, n), values, tick)


def percentile_bounds(
    replicates: FloatArray, estimate: float, confidence: float
) -> tuple[float, float]:
    """Bounds of the percentile bootstrap, moved out to the estimate where that lies beyond them.

    Replicates are biased where an estimate rests on few values, as a quantile between two modes
    does: all but a few may then lie on one side of it. Moving a bound outwards costs no coverage.

    Parameters
    ----------
    replicates : array, shape (resamples,)
    estimate, confidence : float
    """
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return min(float(low), estimate), max(float(high), estimate)


def apart(interval: Interval, values: FloatArray, tick: float | None = None) -> Interval:
    """Allow for the clock in the interval of how far values lie apart: a range, an SD.

    Parameters are those of :func:`widened`. Either end of a range is known to one tick.
    """
    if interval.low is None or interval.high is None:
        return interval
    tick = tick_of(values.ravel(), tick)
    if tick is None:
        return replace(interval, low=None, high=None, refusal=_equal(interval.n))
    low = max(0.0, interval.low - tick)
    return replace(interval, low=low, high=interval.high + tick, tick=tick)


def _equal(n: int) -> Message:
    return message(phrases.UNRESOLVED, n=n)


def resampled_ranges(values: FloatArray, draws: np.ndarray) -> FloatArray:
    """p10–p90 range of each resample.

    Parameters
    ----------
    values : array, shape (n,) or (n, workers)
    draws : int array, shape (resamples, n)
        Indices of the trials of each resample.

    Returns
    -------
    array, shape (resamples,)
    """
    step = max(1, _CHUNK // max(1, values.size))
    parts = [
        p10_p90(values[draws[i : i + step]].reshape(len(draws[i : i + step]), -1))
        for i in range(0, len(draws), step)
    ]
    return np.concatenate(parts)
