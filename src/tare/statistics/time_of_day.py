"""Medians per unit of time: daily and weekly cycle, stationary stretches, intervals that hold.

Source: CLOUDNET, F5.4; Hartley 1949; Thomson 1982, section XIII.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.errors import ValuesError
from tare.statistics import checked
from tare.statistics.changes import Changes, changes
from tare.statistics.confirm import Repetitions, converges, repetitions
from tare.statistics.dependence import dependence_times
from tare.statistics.downsample import sample
from tare.statistics.interim_analysis import FIRST_LOOK
from tare.statistics.intervals import Interval, quantile_interval
from tare.statistics.order import Order, normal_scores, order_of
from tare.statistics.quantiles import quantiles
from tare.statistics.series_intervals import series_interval
from tare.statistics.stationarity import Stationarity, stationarity
from tare.statistics.statistic import FloatArray, IndexArray, median

if TYPE_CHECKING:
    from tare.statistics.normality import Normality

HOUR_S, DAY_S, WEEK_S = 3600.0, 86_400.0, 604_800.0
#: Fewest medians that are analysed: the interval of a median needs as many.
FEWEST = 6
#: Fewest days for a daily cycle and weeks for a weekly one. From three periods on, at least two
#: frequencies lie between neighbouring waves of the cycle, at which the noise is estimated.
FEWEST_PERIODS = 3
#: Shortest unit of time, of which a day has 288.
SHORTEST_S = 300.0
#: Share of the values of a usual unit that a unit needs for its median to count.
_LEAST_FILLED = 0.5
#: Waves of one period, a half and a third of it are tested.
_HARMONICS = 3
#: Each against up to this many frequencies on either side, at which noise with a smooth spectrum
#: has the same power; over the few weeks of a series, more would reach too far for that.
_NEIGHBOURS = {DAY_S: 9, WEEK_S: 6}
#: Share of the test's level that each of these waves has (weighted Bonferroni). Most cycles of load
#: have one peak per day, which is the first wave.
_LEVEL_SHARES = {DAY_S: (0.85, 0.075, 0.075), WEEK_S: (1 / 3, 1 / 3, 1 / 3)}
#: Fewest units per period that resolve the shortest of these waves.
_FEWEST_PER_PERIOD = 2 * _HARMONICS
#: Fewest units of time with values for a test.
FEWEST_UNITS = 12
#: Level of the test, below the 5 % that are claimed, as scores of ranks are only nearly normal.
ALPHA = 0.04
#: The same of weekly cycles: over weeks that are not whole, strongly autocorrelated noise has about
#: a quarter more alarms.
WEEK_ALPHA = 0.03
#: Noise amplitude × this = margin for 90 % power.
_POWER_90 = 1.2816 / math.sqrt(2)
#: Values beyond which CONFIRM rests on an even sample of them.
_MOST = 20_000
#: 1970-01-01 was a Thursday, the fourth day of the week.
FIRST_WEEKDAY = 3


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
        inside = np.mod(self.start_s + _week_shift_s(period_s), period_s) / self.unit_s
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
        If no whole number of units is a day, or a unit is shorter than 5 minutes.

    References
    ----------
    CLOUDNET, F5.4: discretise into units of time, and gather the median of each.
    """
    if not (unit_s > 0 and math.isclose(DAY_S / unit_s, round(DAY_S / unit_s))):
        raise ValuesError("a day is no whole number of such units of time", "an hour: 3600 s")
    if unit_s < SHORTEST_S:
        raise ValuesError("units of time are to be of 5 min or longer", "an hour: 3600 s")
    unit = np.floor(at_s / unit_s).astype(np.int64)
    ordered = np.asarray(values, dtype=float)[np.lexsort((values, unit))]
    numbers, counts = np.unique(unit, return_counts=True)
    first = np.cumsum(counts) - counts
    kept = counts >= _LEAST_FILLED * np.median(counts)
    medians = (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2])[kept] / 2
    return UnitMedians(
        np.asarray(numbers[kept] * unit_s, dtype=float), medians, unit_s, int((~kept).sum())
    )


#: Why a cycle cannot be tested: units of time that are too long to resolve it, less than 3 days (of
#: a daily cycle) or weeks (of a weekly one), too few units with values, or all medians equal.
Untested = Literal["coarse", "days", "weeks", "units", "equal"]


@dataclass(frozen=True, eq=False)
class Cycle:
    """How medians depend on the time of day, or of the week.

    Attributes
    ----------
    p : float
        Probability of so clear a wave of one, half or a third of the period in noise.
    amplitude : float
        Half the distance from the lowest to the highest point of the fitted cycle, or of a week
        from the lowest to the highest mean of a weekday, in the unit of the values.
    noise : float
        Root mean square amplitude of the noise near one cycle per period, likewise.
    neighbours : int
        Frequencies that the noise was estimated at.
    alpha : float
        Level of the test.
    level : float
        Share of it that the wave of one period has.
    fitted : array, shape (m,)
        The cycle at each unit, about 0.
    lowest, highest : float
        Hours after 00:00 UTC at which the fitted cycle is lowest and highest; of a week, hours
        from 00:00 of Monday to the beginning of that weekday.
    """

    p: float
    amplitude: float
    noise: float
    neighbours: int
    alpha: float
    level: float
    fitted: FloatArray
    lowest: float
    highest: float

    def corrected_p(self, tested: int) -> float:
        """Bonferroni's p where so many series are tested."""
        return min(1.0, self.p * tested)

    def detectable(self, tested: int = 1) -> float:
        """Amplitude of a wave of one period found in 90 % where so many series are tested."""
        limit = special.fdtri(2, 2 * self.neighbours, 1 - self.level / tested)
        return self.noise * (math.sqrt(limit) + _POWER_90)


def daily_cycle(units: UnitMedians) -> Cycle | Untested:
    """Test for a daily cycle, whatever the autocorrelation of the noise; see :func:`_cycle`."""
    return _cycle(units, DAY_S)


def weekly_cycle(units: UnitMedians, daily: Cycle | Untested) -> Cycle | Untested:
    """Test for a weekly cycle, such as a difference between weekdays and weekends.

    Parameters
    ----------
    units : UnitMedians
    daily : Cycle or str
        Cycle of the same units, which is subtracted if it is significant: where the series is not
        a whole number of days, some of its power would appear at the frequencies of a week.

    Returns
    -------
    Cycle or str
        The reason where it cannot be tested.
    """
    if not isinstance(daily, str) and daily.p < daily.alpha:
        units = replace(units, values=units.values - daily.fitted)
    return _cycle(units, WEEK_S)


def cycles(units: UnitMedians) -> tuple[Cycle | Untested, Cycle | Untested]:
    """Test for a daily and for a weekly cycle, each after the other is subtracted where shown.

    Ranks distort a weekly cycle that is clearer than the noise; its seventh wave is a daily one.
    """
    daily = daily_cycle(units)
    weekly = weekly_cycle(units, daily)
    if not isinstance(weekly, str) and weekly.p < weekly.alpha:
        daily = daily_cycle(replace(units, values=units.values - weekly.fitted))
    return daily, weekly


def _cycle(units: UnitMedians, period_s: float) -> Cycle | Untested:
    """Test for a cycle of a period, whatever the autocorrelation of the noise.

    Parameters
    ----------
    units : UnitMedians
        Units may be missing.
    period_s : float
        A day or a week.

    Returns
    -------
    Cycle or str
        The reason where it cannot be tested.

    Notes
    -----
    The power of the normal scores of the medians at one, two and three cycles per period is
    compared with the mean power at frequencies around it. Noise has the same expected power there,
    as long as its spectrum is smooth, so the ratio is F-distributed: no model of the dependence is
    needed. The p-values of the three are divided by their shares of the level.

    References
    ----------
    Hartley, Tests of significance in harmonic analysis, Biometrika 36, 1949; Thomson, Spectrum
    estimation and harmonic analysis, Proc. IEEE 70, 1982.
    """
    alpha = WEEK_ALPHA if period_s == WEEK_S else ALPHA
    n, periods, per_period = len(units), units.days * DAY_S / period_s, period_s / units.unit_s
    if per_period < _FEWEST_PER_PERIOD:
        return "coarse"
    if periods < FEWEST_PERIODS:
        return "days" if period_s == DAY_S else "weeks"
    if n < FEWEST_UNITS:
        return "units"
    at = (units.start_s - units.start_s[0]) / period_s
    scores = normal_scores(units.values)
    if not scores.any():
        return "equal"
    around = units.values - units.values.mean()
    found = []
    for cycles, level_share in enumerate(_LEVEL_SHARES[period_s], 1):
        others = _neighbour_frequencies(cycles, periods, per_period, _NEIGHBOURS[period_s])
        noise = float(np.mean(_power(scores, at, others)))
        ratio = float(_power(scores, at, [cycles])[0]) / max(noise, 1e-300)
        found.append(float(special.fdtrc(2, 2 * len(others), ratio)) / level_share)
    others = _neighbour_frequencies(1, periods, per_period, _NEIGHBOURS[period_s])
    # Waves that are not significant would only add noise.
    shown = [c for c, p in enumerate(found, 1) if p < alpha] or [1]
    design = _waves(at, shown)
    weights = np.linalg.lstsq(np.column_stack([np.ones(n), design]), around, rcond=None)[0][1:]
    inside_s = np.arange(0.0, period_s, units.unit_s)
    phase = (units.start_s[0] + _week_shift_s(period_s)) / period_s
    curve = _waves(inside_s / period_s - phase, shown) @ weights
    if period_s == WEEK_S:
        # Three waves overshoot a step, such as that between Friday and Saturday.
        day = units.folded(WEEK_S) * units.unit_s // DAY_S
        curve = np.array([units.values[day == one].mean() for one in np.unique(day)])
        inside_s = np.unique(day) * DAY_S
    return Cycle(
        p=min(1.0, *found),
        amplitude=float(np.ptp(curve)) / 2,
        noise=2 / n * math.sqrt(float(np.mean(_power(around, at, others)))),
        neighbours=len(others),
        alpha=alpha,
        level=alpha * _LEVEL_SHARES[period_s][0],
        fitted=design @ weights,
        lowest=float(inside_s[curve.argmin()]) / HOUR_S,
        highest=float(inside_s[curve.argmax()]) / HOUR_S,
    )


def _week_shift_s(period_s: float) -> float:
    """Seconds from the beginning of the period (00:00, or Monday 00:00) to 1970-01-01 00:00."""
    return FIRST_WEEKDAY * DAY_S if period_s == WEEK_S else 0.0


def _neighbour_frequencies(
    cycles: int, periods: float, per_period: float, neighbours: int
) -> FloatArray:
    """Fourier frequencies next to `cycles` per period, without the cycle's harmonics."""
    steps = np.arange(1, neighbours + 1) / periods
    around = np.concatenate([cycles - steps, cycles + steps])
    apart = np.abs(around - np.round(around)) > 0.5 / periods
    fastest = per_period / 2
    return np.asarray(around[apart & (around > 0.5 / periods) & (around < fastest - 0.5 / periods)])


def _power(values: FloatArray, at: FloatArray, cycles: FloatArray | Sequence[int]) -> FloatArray:
    turns = np.exp(-2j * np.pi * np.outer(np.asarray(cycles, dtype=float), at))
    return np.asarray(np.abs(turns @ values) ** 2)


def _waves(at: FloatArray, cycles: Sequence[int]) -> FloatArray:
    angles = 2 * np.pi * np.outer(at, cycles)
    return np.hstack([np.cos(angles), np.sin(angles)])


@dataclass(frozen=True, eq=False)
class Level:
    """What a set of values says: its median, and the assumptions of its interval.

    Attributes
    ----------
    values : array, shape (n,)
        In order of time.
    median : Interval
        Widened by the dependence time, unless it is meant to show what ignoring it gives.
    order : Order or None
        How values depend on their order; None: too few values.
    dependence : float
        Values that are worth one independent value; 1 where no autocorrelation is shown.
    precision, confidence : float
    """

    values: FloatArray
    median: Interval
    order: Order | None
    dependence: float
    precision: float
    confidence: float

    @property
    def independent(self) -> bool | None:
        """Whether no autocorrelation is shown; None: too few values."""
        return None if self.order is None else self.dependence == 1

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
    values: FloatArray,
    precision: float,
    confidence: float,
    *,
    widened: bool = True,
    left: FloatArray | None = None,
) -> Level:
    """Find the median of values in order of time, and how far they depend on each other.

    ``left``: the values after cycles are subtracted, where these are shown. The dependence is
    theirs: at whole periods, a cycle moves no median.
    """
    order = order_of(values if left is None else left)
    tau = 1.0 if order is None else order.dependence
    if not widened:
        interval = quantile_interval(values, 0.5, confidence)
    elif left is not None:
        below = (left <= median(left)).astype(float)
        tau = max(tau, float(dependence_times(below[None])[0])) if tau > 1 else tau
        (interval,) = quantiles(values, [0.5], confidence, math.sqrt(tau))
    elif len(values) >= FIRST_LOOK:
        interval = series_interval(values, 0.5, confidence)
        below = (values <= interval.estimate).astype(float)
        tau = max(tau, float(dependence_times(below[None])[0])) if tau > 1 else tau
    else:
        (interval,) = quantiles(values, [0.5], confidence, math.sqrt(tau))
    return Level(values, interval, order, tau, precision, confidence)


@dataclass(frozen=True, eq=False)
class CycleTest:
    """Whether medians follow a daily or weekly cycle, tested together with other series.

    Attributes
    ----------
    cycle : Cycle or str
        The reason where it cannot be tested.
    middle : float
        Median of the medians.
    precision : float
        Smallest amplitude that matters, relative to `middle`.
    tested : int
        Series that are tested together, by which the test is corrected (Bonferroni).
    """

    cycle: Cycle | Untested
    middle: float
    precision: float
    tested: int = 1

    @property
    def p(self) -> float | None:
        """Corrected for all series tested; None: not tested."""
        return None if isinstance(self.cycle, str) else self.cycle.corrected_p(self.tested)

    @property
    def detectable(self) -> float | None:
        """Amplitude that is found in 90 %, corrected likewise; None: not tested."""
        return None if isinstance(self.cycle, str) else self.cycle.detectable(self.tested)

    @property
    def is_shown(self) -> bool | None:
        """Whether the cycle is shown; None: it is not, but one above the precision may exist."""
        if isinstance(self.cycle, str) or self.p is None or self.detectable is None:
            return None
        if self.p < self.cycle.alpha:
            return True
        share = self.share(self.detectable)
        return False if share is not None and share <= self.precision else None

    def share(self, amplitude: float) -> float | None:
        """Divide an amplitude by the median of the medians; None where that is not positive."""
        return amplitude / self.middle if self.middle > 0 else None


@dataclass(frozen=True, eq=False)
class TimeOfDay:
    """One series over days.

    Attributes
    ----------
    at_s, values : array, shape (n,)
        In order of time.
    units : UnitMedians
    day, week : CycleTest
        Of the daily and of the weekly cycle.
    precision, confidence : float
    """

    at_s: FloatArray
    values: FloatArray
    units: UnitMedians
    day: CycleTest
    week: CycleTest
    precision: float
    confidence: float

    @property
    def cycles(self) -> tuple[CycleTest, ...]:
        """Those of the daily and the weekly cycle that are shown."""
        return tuple(test for test in (self.day, self.week) if test.is_shown)

    @property
    def covers_whole_periods(self) -> bool:
        """Whether the units last for whole weeks if a weekly cycle is shown, else whole days."""
        periods = self.units.days * DAY_S / (WEEK_S if self.week.is_shown else DAY_S)
        return math.isclose(periods, round(periods), abs_tol=self.units.unit_s / DAY_S)

    def without_cycles(self, at_s: FloatArray, values: FloatArray) -> FloatArray:
        """Subtract the cycles that are shown from values of these times.

        The daily cycle is the median at each time of day over all days; the weekly one is the
        median of each weekday's daily medians, so an edge such as the begin of a weekend leaves no
        level shift. Both are relative to the median of all, so the level remains.
        """
        units, left = self.units, self.units.values - self.day.middle
        found = np.asarray(values, dtype=float)
        if self.day.is_shown:
            slots = units.folded(DAY_S)
            profile = np.zeros(round(DAY_S / units.unit_s))
            for slot in np.unique(slots):
                profile[slot] = median(left[slots == slot])
            left = left - profile[slots]
            found = found - profile[(np.mod(at_s, DAY_S) // units.unit_s).astype(int)]
        if self.week.is_shown:
            days = np.floor(units.start_s / DAY_S)
            of_days = np.unique(days)
            medians = np.array([median(left[days == day]) for day in of_days])
            weekdays = np.mod(of_days + FIRST_WEEKDAY, 7).astype(int)
            profile = np.zeros(7)
            for weekday in np.unique(weekdays):
                profile[weekday] = median(medians[weekdays == weekday])
            found = found - profile[np.mod(at_s // DAY_S + FIRST_WEEKDAY, 7).astype(int)]
        return found

    @cached_property
    def samples(self) -> Level:
        """All values, their interval as if they were independent."""
        left = self.without_cycles(self.at_s, self.values) if self.cycles else None
        return level_of(self.values, self.precision, self.confidence, widened=False, left=left)

    @cached_property
    def medians(self) -> Level:
        """Medians of all units."""
        left = self._left if self.cycles else None
        return level_of(self.units.values, self.precision, self.confidence, left=left)

    @cached_property
    def _left(self) -> FloatArray:
        """Medians of the units after the cycles that are shown are subtracted."""
        return self.without_cycles(self.units.start_s, self.units.values)

    @cached_property
    def changes(self) -> Changes:
        """Level shifts or a drift of the medians, after subtracting the cycles that are shown."""
        return changes(self._left, self.precision)

    @cached_property
    def stretch(self) -> tuple[int, int] | None:
        """First unit and end of the longest stretch without a shift; None: a drift leaves none."""
        return _longest(self.changes, len(self.units))

    @cached_property
    def stable(self) -> Level | None:
        """Medians of that stretch; None: it is all of the time, or too short."""
        if self.stretch is None or self.is_whole or self.stretch[1] - self.stretch[0] < FEWEST:
            return None
        return level_of(self.units.values[slice(*self.stretch)], self.precision, self.confidence)

    @property
    def is_whole(self) -> bool:
        """Whether the stationary stretch is all of the time."""
        return self.stretch == (0, len(self.units))


def time_of_day(
    at_s: ArrayLike,
    values: ArrayLike,
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
        shift and the smallest amplitude of a cycle that matter.
    confidence : float
        Of the intervals.
    unit_s : float
        Length of a unit of time.

    Returns
    -------
    TimeOfDay or None
        None with fewer than 6 units.
    """
    checked.parameters(precision=precision, confidence=confidence)
    at_s, values = checked.pair(at_s, values, ("at_s", "values"))
    in_time = np.argsort(at_s, kind="stable")
    ordered = values[in_time]
    units = unit_medians(at_s[in_time], ordered, unit_s)
    if len(units) < FEWEST:
        return None
    middle = median(units.values)
    day, week = (CycleTest(cycle, middle, precision) for cycle in cycles(units))
    return TimeOfDay(at_s[in_time], ordered, units, day, week, precision, confidence)


def as_one_family(some: Sequence[TimeOfDay]) -> list[TimeOfDay]:
    """Correct the tests of each kind of cycle for the number of series that are tested."""
    days, weeks = (
        max(1, sum(not isinstance(test.cycle, str) for test in tests))
        for tests in ([one.day for one in some], [one.week for one in some])
    )
    return [
        replace(one, day=replace(one.day, tested=days), week=replace(one.week, tested=weeks))
        for one in some
    ]


def _longest(found: Changes, n: int) -> tuple[int, int] | None:
    """Return the longest stretch between level shifts; None: a drift leaves none."""
    if found.ok is not False:
        return 0, n
    if found.drift is not None:
        return None
    ends = [0, *found.points, n]
    return max(pairwise(ends), key=lambda one: one[1] - one[0])
