"""Medians per unit of time: daily course, stationary stretches, and intervals that hold.

Source: CLOUDNET, F5.4; Hartley 1949; Thomson 1982, section XIII.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from tare.errors import InputError
from tare.statistics.changes import Changes, changes
from tare.statistics.confirm import Repetitions, converges, repetitions
from tare.statistics.dependence import dependence_times
from tare.statistics.downsample import sample
from tare.statistics.interim_analysis import FIRST_LOOK
from tare.statistics.intervals import Interval, quantile_interval
from tare.statistics.order import normal_scores, order_of
from tare.statistics.quantiles import quantiles
from tare.statistics.series_intervals import series_interval
from tare.statistics.stationarity import Stationarity, stationarity
from tare.statistics.statistic import FloatArray, IndexArray, median

if TYPE_CHECKING:
    from tare.statistics.normality import Normality

HOUR_S, DAY_S, WEEK_S = 3600.0, 86_400.0, 604_800.0
#: Medians below which nothing is said: their interval needs as many.
FEWEST = 6
#: Days below which a daily course cannot be told from slow noise.
FEWEST_DAYS = 3
#: Share of the values of a usual unit that a unit needs for its median to count.
_LEAST_FILLED = 0.5
#: Waves of a day, half a day and a third of a day are tested, each against this many frequencies
#: on either side, which noise of any smooth spectrum fills alike.
_HARMONICS, _NEIGHBOURS = 3, 6
#: Level of the test, below the 5 % that are claimed, as scores of ranks are only nearly normal.
ALPHA = 0.04
#: Standard deviations of one component of a wave that 90 % of estimates exceed from below.
_POWER_90 = 1.2816 / math.sqrt(2)
#: Values beyond which CONFIRM rests on an even sample of them.
_MOST = 20_000
#: 1970-01-01 was a Thursday, the fourth day of the week.
_FIRST_WEEKDAY = 3


@dataclass(frozen=True, eq=False)
class UnitMedians:
    """Medians of the values in each unit of time.

    Attributes
    ----------
    start_s : array, shape (m,)
        When each unit begins, seconds since 1970, ascending; units without values are left out.
    values : array, shape (m,)
        Medians.
    unit_s : float
        Length of a unit.
    left_out : int
        Units with fewer than half as many values as a usual one.
    """

    start_s: FloatArray
    values: FloatArray
    unit_s: float
    left_out: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def days(self) -> float:
        """Days from the first unit to the end of the last one."""
        return float(self.start_s[-1] + self.unit_s - self.start_s[0]) / DAY_S

    def between(self, first: int, end: int) -> UnitMedians:
        """Return some consecutive units."""
        return UnitMedians(self.start_s[first:end], self.values[first:end], self.unit_s, 0)

    def folded(self, period_s: float) -> IndexArray:
        """Return the place of each unit in a day or a week, in units; weeks begin on Mondays."""
        shift_s = _FIRST_WEEKDAY * DAY_S if period_s == WEEK_S else 0.0
        inside = np.mod(self.start_s + shift_s, period_s) / self.unit_s
        return np.asarray(np.round(inside), dtype=np.intp)


def unit_medians(at_s: FloatArray, values: FloatArray, unit_s: float = HOUR_S) -> UnitMedians:
    """Take the median of the values of each unit of time.

    Parameters
    ----------
    at_s : array, shape (n,)
        When each value was measured, seconds since 1970 (UTC), in any order.
    values : array, shape (n,)
    unit_s : float
        Length of a unit; a whole number of units is a day.

    Raises
    ------
    InputError
        If no whole number of units is a day.

    References
    ----------
    CLOUDNET, F5.4: discretise into units of time, and gather the median of each.
    """
    if not (unit_s > 0 and math.isclose(DAY_S / unit_s, round(DAY_S / unit_s))):
        raise InputError("a day is no whole number of such units of time", "an hour: 3600 s")
    unit = np.floor(at_s / unit_s).astype(np.int64)
    order = np.argsort(unit, kind="stable")
    numbers, first = np.unique(unit[order], return_index=True)
    parts = np.split(np.asarray(values, dtype=float)[order], first[1:])
    counts = np.array([len(part) for part in parts])
    kept = counts >= _LEAST_FILLED * np.median(counts)
    medians = np.array([median(p) for p, keep in zip(parts, kept, strict=True) if keep])
    return UnitMedians(numbers[kept] * unit_s, medians, unit_s, int((~kept).sum()))


@dataclass(frozen=True, eq=False)
class DailyCourse:
    """How medians depend on the time of day.

    Attributes
    ----------
    p : float
        Probability of so clear a wave of a day, half a day or a third of a day in noise.
    amplitude : float
        Half the distance from the lowest to the highest hour of the fitted course, relative to
        the median.
    detectable : float
        Amplitude, likewise, of a wave of one day that would be found in 90 %.
    fitted : array, shape (m,)
        The course at each unit, about 0.
    lowest, highest : float
        Hours of the day, UTC, at which the fitted course is lowest and highest.
    """

    p: float
    amplitude: float
    detectable: float
    fitted: FloatArray
    lowest: float
    highest: float


def daily_course(units: UnitMedians) -> DailyCourse | None:
    """Test for a daily course, whatever the autocorrelation of the noise.

    Parameters
    ----------
    units : UnitMedians
        Units may be missing.

    Returns
    -------
    DailyCourse or None
        None below 3 days, with units of more than 4 hours, or where all medians are equal.

    Notes
    -----
    The power of the normal scores of the medians at one, two and three cycles a day is compared
    with the mean power at frequencies around it. Noise has the same expected power there, as long
    as its spectrum is smooth, so the ratio is F-distributed: no model of the dependence is needed.
    The three are corrected by Bonferroni.

    References
    ----------
    Hartley, Tests of significance in harmonic analysis, Biometrika 36, 1949; Thomson, Spectrum
    estimation and harmonic analysis, Proc. IEEE 70, 1982.
    """
    n, days = len(units), units.days
    if days < FEWEST_DAYS or n < 2 * _NEIGHBOURS or units.unit_s > DAY_S / (2 * _HARMONICS):
        return None
    at_days = (units.start_s - units.start_s[0]) / DAY_S
    scores = normal_scores(units.values)
    if not scores.any():
        return None
    middle = abs(median(units.values)) or 1.0
    around = units.values - units.values.mean()
    found = []
    for cycles in range(1, _HARMONICS + 1):
        beside = _beside(cycles, days, units.unit_s)
        noise = float(np.mean(_power(scores, at_days, beside)))
        ratio = float(_power(scores, at_days, [cycles])[0]) / max(noise, 1e-300)
        found.append(float(special.fdtrc(2, 2 * len(beside), ratio)))
    beside = _beside(1, days, units.unit_s)
    limit = special.fdtri(2, 2 * len(beside), 1 - ALPHA / _HARMONICS)
    noise = float(np.mean(_power(around, at_days, beside)))
    detectable = 2 / n * math.sqrt(noise) * (math.sqrt(limit) + _POWER_90)
    hours = np.arange(0.0, DAY_S, units.unit_s) / DAY_S
    # Waves that are not shown would only add noise.
    shown = [c for c, p in enumerate(found, 1) if p * _HARMONICS < ALPHA] or [1]
    design = _waves(at_days, shown)
    weights = np.linalg.lstsq(np.column_stack([np.ones(n), design]), around, rcond=None)[0][1:]
    day = _waves(hours - units.start_s[0] / DAY_S, shown) @ weights
    return DailyCourse(
        p=min(1.0, _HARMONICS * min(found)),
        amplitude=float(np.ptp(day)) / 2 / middle,
        detectable=detectable / middle,
        fitted=design @ weights,
        lowest=24 * float(hours[day.argmin()]),
        highest=24 * float(hours[day.argmax()]),
    )


def _beside(cycles: int, days: float, unit_s: float) -> FloatArray:
    """Return frequencies around a number of cycles a day, without whole numbers of them."""
    steps = np.arange(1, _NEIGHBOURS + 1) / days
    around = np.concatenate([cycles - steps, cycles + steps])
    apart = np.abs(around - np.round(around)) > 0.5 / days
    fastest = DAY_S / unit_s / 2
    return np.asarray(around[apart & (around > 0.5 / days) & (around < fastest - 0.5 / days)])


def _power(
    values: FloatArray, at_days: FloatArray, cycles: FloatArray | Sequence[int]
) -> FloatArray:
    turns = np.exp(-2j * np.pi * np.outer(np.asarray(cycles, dtype=float), at_days))
    return np.asarray(np.abs(turns @ values) ** 2)


def _waves(at_days: FloatArray, cycles: Sequence[int]) -> FloatArray:
    angles = 2 * np.pi * np.outer(at_days, cycles)
    return np.hstack([np.cos(angles), np.sin(angles)])


@dataclass(frozen=True, eq=False)
class Level:
    """What a set of values says: its median, and what its interval takes for granted.

    Attributes
    ----------
    values : array, shape (n,)
        In order of time.
    median : Interval
        Widened by the dependence time, unless it is meant to show what ignoring it gives.
    dependence : float
        Values that are worth one independent value; 1 where no autocorrelation is shown.
    precision, confidence : float
    """

    values: FloatArray
    median: Interval
    dependence: float
    precision: float
    confidence: float

    @property
    def independent(self) -> bool | None:
        """Whether no autocorrelation is shown; None: too few values."""
        return None if order_of(self.values) is None else self.dependence == 1

    @cached_property
    def normality(self) -> Normality:
        """Test of a normal distribution."""
        # Only tables have it, and scipy.stats takes long to load.
        from tare.statistics.normality import normality

        return normality(self.values)

    @cached_property
    def stationarity(self) -> Stationarity:
        """Tests of a unit root and of stationarity."""
        return stationarity(self.values)

    @cached_property
    def repetitions(self) -> Repetitions:
        """CONFIRM's number of values for the precision, as if they were independent."""
        part = sample(self.values, _MOST)
        settled = converges(part, self.precision, self.confidence)
        return repetitions(part, self.precision, self.confidence, settled=settled)

    @property
    def needed(self) -> int | None:
        """CONFIRM's number times the dependence; None: not reached, or intervals do not narrow."""
        n = self.repetitions.n
        return None if n is None else math.ceil(n * self.dependence)


def level_of(
    values: FloatArray, precision: float, confidence: float, *, widened: bool = True
) -> Level:
    """Find the median of values in order of time, and how far they depend on each other."""
    order = order_of(values)
    tau = order.tau if order is not None and order.kind == "autocorrelation" else 1.0
    if not widened:
        interval = quantile_interval(values, 0.5, confidence)
    elif len(values) >= FIRST_LOOK:
        interval = series_interval(values, 0.5, confidence)
        below = (values <= interval.estimate).astype(float)
        tau = max(tau, float(dependence_times(below[None])[0])) if tau > 1 else tau
    else:
        (interval,) = quantiles(values, [0.5], confidence, math.sqrt(tau))
    return Level(values, interval, tau, precision, confidence)


@dataclass(frozen=True, eq=False)
class TimeOfDay:
    """One series over days.

    Attributes
    ----------
    units : UnitMedians
    course : DailyCourse or None
        None: too short to tell.
    samples : Level
        All values, their interval as if they were independent.
    medians : Level
        Medians of all units.
    changes : Changes
        Level shifts or a drift of the medians beside the daily course.
    stretch : (int, int) or None
        First unit and end of the longest stretch without a level shift; None: a drift leaves none.
    stable : Level or None
        Medians of that stretch; None: it is all of the time, or too short.
    """

    units: UnitMedians
    course: DailyCourse | None
    samples: Level
    medians: Level
    changes: Changes
    stretch: tuple[int, int] | None
    stable: Level | None

    @property
    def is_daily(self) -> bool | None:
        """Whether a daily course is shown, of this series alone; None: too short to tell."""
        return None if self.course is None else self.course.p < ALPHA

    @property
    def is_whole(self) -> bool:
        """Whether the stationary stretch is all of the time."""
        return self.stretch == (0, len(self.units))


def time_of_day(
    at_s: FloatArray,
    values: FloatArray,
    precision: float = 0.05,
    confidence: float = 0.95,
    unit_s: float = HOUR_S,
) -> TimeOfDay | None:
    """Analyse values by units of time.

    Parameters
    ----------
    at_s : array, shape (n,)
        When each was measured, seconds since 1970 (UTC).
    values : array, shape (n,)
    precision : float
        Half-width that the median's interval should have, relative to it; also the smallest level
        shift that matters.
    confidence : float
        Of the intervals.
    unit_s : float
        Length of a unit of time.

    Returns
    -------
    TimeOfDay or None
        None with fewer than 6 units.
    """
    in_time = np.argsort(at_s, kind="stable")
    at_s, values = at_s[in_time], np.asarray(values, dtype=float)[in_time]
    if not len(values):
        return None
    units = unit_medians(at_s, values, unit_s)
    if len(units) < FEWEST:
        return None
    course = daily_course(units)
    shown = course is not None and course.p < ALPHA
    level = units.values - course.fitted if shown and course is not None else units.values
    found = changes(level, precision)
    stretch = _longest(found, len(units))
    stable = None
    if stretch is not None and FEWEST <= stretch[1] - stretch[0] < len(units):
        stable = level_of(units.values[slice(*stretch)], precision, confidence)
    return TimeOfDay(
        units,
        course,
        level_of(values, precision, confidence, widened=False),
        level_of(units.values, precision, confidence),
        found,
        stretch,
        stable,
    )


def _longest(found: Changes, n: int) -> tuple[int, int] | None:
    """Return the longest stretch between level shifts; None: a drift leaves none."""
    if found.ok is not False:
        return 0, n
    if found.drift is not None:
        return None
    ends = [0, *found.points, n]
    return max(pairwise(ends), key=lambda one: one[1] - one[0])
