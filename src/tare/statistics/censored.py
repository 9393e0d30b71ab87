"""Values that are only known to exceed a limit: bounds of what all values would give.

A value above a limit is infinite, and the limit is given separately. Whatever the true value is, it
lies between the two. Shifts and quantiles grow with each value, so that computing them from the
lower ends and from the upper ends gives bounds that contain what the true values give (partial
identification). Nothing is assumed of the values above the limit.

Source: Manski 2003, chapter 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tare.results.message import message
from tare.statistics import phrases
from tare.statistics.intervals import Interval
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import Tick, tick_of

if TYPE_CHECKING:
    from tare.statistics.statistic import Shift

#: Natural logarithm of the factor by which what stands for an infinite value exceeds all others,
#: so that interpolating next to it gives no number that could be mistaken for a value.
_FAR = 40.0


def has_killed(*series: FloatArray) -> bool:
    """Whether a value of some series is only known to exceed a limit."""
    return any(bool(np.isposinf(values).any()) for values in series)


def at_least(values: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the lower ends: the limits in place of infinite values."""
    return np.where(np.isposinf(values), limits, values)


class Range:
    """How far finite values reach, and what stands for an infinite one beyond them.

    Parameters
    ----------
    *series : array
        Lower ends of all values.
    logs : bool
        Whether logarithms are subtracted; the values are then above zero.
    """

    def __init__(self, *series: FloatArray, logs: bool) -> None:
        ends = np.concatenate([np.log(values) if logs else values for values in series])
        most, self.width = float(ends.max()), float(ends.max() - ends.min())
        # Averages of an average that one infinite value is part of are still beyond the cut.
        far = most + 8 * self.width + (_FAR if logs else 8 * max(abs(most), self.width, 1.0))
        self._infinite = math.exp(min(far, 700.0)) if logs else far
        #: Largest difference that two finite values have; larger ones come from infinite ones.
        self.cut = self.width + (1.0 if logs else max(self.width, 1e-9 * abs(most)))

    def filled(self, values: FloatArray) -> FloatArray:
        """Return values with finite ones, beyond all others, in place of infinite ones."""
        return np.where(np.isposinf(values), self._infinite, values)

    def opened(self, difference: float) -> float:
        """Return a difference as infinite where it comes from infinite values."""
        if abs(difference) <= self.cut:
            return difference
        return math.copysign(math.inf, difference)


def shift_between(
    measure: Callable[[FloatArray, FloatArray, Tick], Shift],
    first: FloatArray,
    second: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    tick: Tick,
    *,
    logs: bool,
) -> Shift:
    """Bound a shift between two samples, some of whose values exceed limits.

    Parameters
    ----------
    measure : callable
        Measures the shift of two samples of finite values, given their ticks.
    first, second : array
        Infinite: above the limit.
    limits : (array, array)
        Of each value of the first and of the second.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    logs : bool
        Whether the shift is one of logarithms.

    Returns
    -------
    Shift
        Bounds are infinite where nothing bounds the shift. Its estimate is the middle of the two
        that the lower and the upper ends give, and ``gap`` half of their distance; it is NaN, and
        the gap infinite, where one of them or a bound is infinite: the middle is then as arbitrary
        as the limit.
    """
    a, b = (at_least(x, limit) for x, limit in zip((first, second), limits, strict=True))
    reach = Range(a, b, logs=logs)
    known = _ticks(first, second, tick)
    lowest, highest = (
        measure(reach.filled(first), b, known),
        measure(a, reach.filled(second), known),
    )
    least, most = reach.opened(lowest.middle), reach.opened(highest.middle)
    low = None if lowest.low is None else reach.opened(lowest.low)
    high = None if highest.high is None else reach.opened(highest.high)
    if (low is None) != (high is None):
        # A side without bounds refuses nothing.
        low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    is_known = all(math.isfinite(x) for x in (least, most, low, high) if x is not None)
    p = lowest.p if least > 0 else highest.p if most < 0 else 1.0
    return replace(
        lowest,
        middle=(least + most) / 2 if is_known else math.nan,
        gap=(most - least) / 2 if is_known else math.inf,
        low=low,
        high=high,
        p=p,
    )


def _ticks(first: FloatArray, second: FloatArray, tick: Tick) -> Tick:
    """Find the ticks from the finite values, as those that stand for others have none."""
    given = tick if isinstance(tick, tuple) else (tick, tick)
    found = [
        tick_of(values[np.isfinite(values)], known)
        for values, known in zip((first, second), given, strict=True)
    ]
    # Of a series without a finite value nothing shows the tick, and nothing rests on it.
    none = [not np.isfinite(values).any() for values in (first, second)]
    return tuple(0.0 if empty else one for one, empty in zip(found, none, strict=True))  # type: ignore[return-value]


def interval_above(
    compute: Callable[[FloatArray, float | None], Interval],
    values: FloatArray,
    limits: FloatArray,
    tick: float | None = None,
) -> Interval:
    """Interval of a quantile of values, some of which exceed a limit.

    Parameters
    ----------
    compute : callable
        Gives the interval of finite values, by their order, given the tick.
    values : array, shape (n,)
        Infinite: above the limit.
    limits : array, shape (n,)
        What infinite values exceed.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    Interval
        Infinite where the quantile is above the limit, which ``above`` has; its upper bound is
        infinite where nothing bounds it, and the refusal then says so.
    """
    killed = np.isposinf(values)
    if not killed.any():
        return compute(values, tick)
    least = at_least(values, limits)
    scale = float(np.abs(least).max())
    above = float(least[killed].min())
    ended = values[~killed]
    known = tick_of(ended, tick) if len(ended) else 0.0
    found = compute(np.where(killed, math.exp(_FAR) * scale, values), known or 0.0)
    if known is None:
        found = found.refused(message(phrases.UNRESOLVED, n=len(values)))
    # What ended after the limit may rank behind what was killed at it.
    low = None if found.low is None else min(found.low, above)
    beyond = 2 * scale
    high = math.inf if found.high is not None and found.high > beyond else found.high
    # So may the quantile itself: its lower ends then reach the lowest limit, and no more is known.
    is_above = found.estimate > above
    if is_above and high is not None:
        high = math.inf
    if high == math.inf:
        many = message(
            "{killed} of {n | counted('run')} exceeded the time limit",
            killed=int(killed.sum()),
            n=len(values),
        )
        found = replace(found, refusal=many)
    return replace(
        found,
        estimate=math.inf if is_above else found.estimate,
        above=above,
        low=low,
        high=high,
    )
