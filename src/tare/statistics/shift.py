"""By how much do two samples differ? Shifts with intervals, paired or not, for any clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tare.registry import Description
from tare.statistics.brunner_munzel import (
    brunner_munzel_interval,
    brunner_munzel_p,
    median_difference,
)
from tare.statistics.dependence_rows import padded, unpadded_times
from tare.statistics.exact import ranks
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval, signed_rank_p
from tare.statistics.statistic import FloatArray, Statistic
from tare.statistics.ticks import tick_of

#: Independent pairs below which pairs that depend on each other decide nothing.
FEWEST_INDEPENDENT = 10
#: Pairs whose order says how much neighbours resemble each other.
_FEWEST_FOR_TIME = 6
#: Share of a value below which a tick is not looked at.
_NO_MATTER = 1e-6


@dataclass(frozen=True)
class Shift:
    """By how much a second sample is shifted against a first.

    Attributes
    ----------
    middle : float
        Hodges–Lehmann median of the differences second − first, in their unit, or of their logs.
    low, high : float or None
        Bounds; None where there is no interval.
    p : float
        Two-sided, of there being no shift.
    tick : float or None
        Of the clock, in the unit of the values; None where all values are equal and it is not
        known.
    """

    middle: float
    low: float | None
    high: float | None
    p: float
    tick: float | None = 0.0

    @property
    def different(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


#: How two samples are measured against each other.
Measure = Callable[[FloatArray, FloatArray], Shift]


def paired_shift(
    first: FloatArray,
    second: FloatArray,
    confidence: float = 0.95,
    *,
    logs: bool = False,
    dependence: float | None = None,
    tick: float | None = None,
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
        whether a coin flip chose the order within each block. No interval below ten independent
        pairs.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.
    """
    few = dependence is not None and len(first) < FEWEST_INDEPENDENT * dependence
    widening = 1.0 if dependence is None else float(padded(np.array(dependence), len(first)))

    def measure(a: FloatArray, b: FloatArray) -> Shift:
        d = np.log(b) - np.log(a) if logs else b - a
        bounds = None if few else signed_rank_interval(d, confidence, widening)
        low, high = bounds or (None, None)
        p = 1.0 if few else signed_rank_p(d, widening)
        return Shift(hodges_lehmann(d), low, high, p)

    return allow_for_clock(measure, first, second, tick)


def unpaired_shift(
    first: FloatArray,
    second: FloatArray,
    confidence: float = 0.95,
    *,
    logs: bool = False,
    dependence: float = 1.0,
    tick: float | None = None,
) -> Shift:
    """Find the shift between samples without common blocks, whose spread and shape may differ.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
    confidence, logs, tick
        As for :func:`paired_shift`.
    dependence : float
        Trials that are worth one independent trial, the larger of the two; widens the interval.
    """

    def measure(a: FloatArray, b: FloatArray) -> Shift:
        one, two = (np.sort(np.log(x) if logs else x) for x in (a, b))
        found = brunner_munzel_interval(one, two, confidence, dependence)
        if found is None:
            return Shift(median_difference(one, two), None, None, 1.0)
        return Shift(*found, brunner_munzel_p(one, two, dependence))

    return allow_for_clock(measure, first, second, tick)


def allow_for_clock(
    measure: Measure, first: FloatArray, second: FloatArray, tick: float | None = None
) -> Shift:
    """Measure two samples that one clock timed, and allow for what it could not tell.

    Parameters
    ----------
    measure : callable
        How they are measured as recorded.
    first, second : array
        Recorded values.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    Shift
        With the hull of the bounds that true values recorded so may have, be they all rounded or
        all cut off; without bounds where all values are equal and the tick is not known.
    """
    recorded = measure(first, second)
    tick = tick_of(np.concatenate([first, second]), tick)
    if tick is None:
        return replace(recorded, low=None, high=None, p=1.0, tick=None)
    if recorded.low is None or not _matters(tick, first):
        return replace(recorded, tick=tick)
    half = tick / 2
    lowest = measure(first + half, second - half), measure(first + tick, second)
    highest = measure(first - half, second + half), measure(first, second + tick)
    p = 1.0
    if min(s.middle for s in lowest) > 0:
        p = max(s.p for s in lowest)
    elif max(s.middle for s in highest) < 0:
        p = max(s.p for s in highest)
    return Shift(
        recorded.middle,
        min(s.low for s in lowest if s.low is not None),
        max(s.high for s in highest if s.high is not None),
        p,
        tick,
    )


def pair_dependence(first: FloatArray, second: FloatArray) -> float:
    """Count the pairs that are worth one independent pair, by the ranks of their log-ratios.

    By Geyer's initial positive sequence; 1 where neighbours correlate no more than by chance.

    Parameters
    ----------
    first, second : array, shape (n,)
        In order of time; the i-th of both belong to one block. Differences take the place of
        log-ratios where some values are not positive.
    """
    if len(first) < _FEWEST_FOR_TIME:
        return 1.0
    d = np.log(second) - np.log(first) if has_ratio(first, second) else second - first
    return float(unpadded_times(ranks(d[None]))[0])


def clock_matters(first: FloatArray, second: FloatArray, tick: float | None = None) -> bool:
    """Whether the clock is so coarse, or so unknown, that :func:`allow_for_clock` has to."""
    tick = tick_of(np.concatenate([first, second]), tick)
    return tick is None or _matters(tick, first)


def _matters(tick: float, values: FloatArray) -> bool:
    return tick > _NO_MATTER * float(np.median(np.abs(values)))


def has_ratio(first: FloatArray, second: FloatArray) -> bool:
    """Whether all values are above zero, and finite."""
    return all(bool(((x > 0) & np.isfinite(x)).all()) for x in map(np.asarray, (first, second)))


UNIT = Statistic(
    description=Description(
        name="shift",
        title="Hodges–Lehmann shift of two samples, with the clock and the dependence of pairs",
        question="By how much do two samples differ?",
        source="Hodges and Lehmann 1963; Brunner and Munzel 2000; Geyer 1992",
    ),
    methods=(paired_shift, unpaired_shift, pair_dependence),
)
