"""Medians per unit of time: daily cycle, stationary stretches, and intervals that hold.

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
#: Medians below which nothing is said: their interval needs as many.
FEWEST = 6
#: Days below which a daily cycle cannot be told from slow noise.
FEWEST_DAYS = 3
#: Shortest unit of time, of which a day has 288.
SHORTEST_S = 300.0
#: Share of the values of a usual unit that a unit needs for its median to count.
_LEAST_FILLED = 0.5
#: Waves of a day, half a day and a third of a day are tested, each against this many frequencies
#: on either side, which noise of any smooth spectrum fills alike.
_HARMONICS, _NEIGHBOURS = 3, 6
#: Longest unit of time, and fewest of them, from which these waves can be told.
LONGEST_S, FEWEST_UNITS = DAY_S / (2 * _HARMONICS), 2 * _NEIGHBOURS
#: Level of the test, below the 5 % that are claimed, as scores of ranks are only nearly normal.
ALPHA = 0.04
#: Noise amplitude × this = margin for 90 % power.
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


#: Why a daily cycle cannot be tested: units of more than 4 hours, less than 3 days, too few units
#: with values, or the same median in all of them.
Untested = Literal["coarse", "days", "units", "equal"]


@dataclass(frozen=True, eq=False)
class DailyCycle:
    """How medians depend on the time of day.

    Attributes
    ----------
    p : float
        Probability of so clear a wave of a day, half a day or a third of a day in noise.
    amplitude : float
        Half the distance from the lowest to the highest hour of the fitted cycle, in the unit of
        the values.
    noise : float
        Root mean square amplitude of the noise near one cycle a day, likewise.
    neighbours : int
        Frequencies that the noise was estimated at.
    fitted : array, shape (m,)
        The cycle at each unit, about 0.
    lowest, highest : float
        Hours of the day, UTC, at which the fitted cycle is lowest and highest.
    """

    p: float
    amplitude: float
    noise: float
    neighbours: int
    fitted: FloatArray
    lowest: float
    highest: float

    def corrected_p(self, tested: int) -> float:
        """Bonferroni's p where so many series are tested."""
        return min(1.0, self.p * tested)

    def detectable(self, tested: int = 1) -> float:
        """Amplitude of a wave of one day that is found in 90 % where so many series are tested."""
        limit = special.fdtri(2, 2 * self.neighbours, 1 - ALPHA / _HARMONICS / tested)
        return self.noise * (math.sqrt(limit) + _POWER_90)


def daily_cycle(units: UnitMedians) -> DailyCycle | Untested:
    """Test for a daily cycle, whatever the autocorrelation of the noise.

    Parameters
    ----------
    units : UnitMedians
        Units may be missing.

    Returns
    -------
    DailyCycle or str
        The reason where it cannot be tested.

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
    if units.unit_s > LONGEST_S:
        return "coarse"
    if days < FEWEST_DAYS:
        return "days"
    if n < FEWEST_UNITS:
        return "units"
    at_days = (units.start_s - units.start_s[0]) / DAY_S
    scores = normal_scores(units.values)
    if not scores.any():
        return "equal"
    around = units.values - units.values.mean()
    found = []
    for cycles in range(1, _HARMONICS + 1):
        others = _neighbour_frequencies(cycles, days, units.unit_s)
        noise = float(np.mean(_power(scores, at_days, others)))
        ratio = float(_power(scores, at_days, [cycles])[0]) / max(noise, 1e-300)
        found.append(float(special.fdtrc(2, 2 * len(others), ratio)))
    others = _neighbour_frequencies(1, days, units.unit_s)
    hours = np.arange(0.0, DAY_S, units.unit_s) / DAY_S
    # Waves that are not shown would only add noise.
    shown = [c for c, p in enumerate(found, 1) if p * _HARMONICS < ALPHA] or [1]
    design = _waves(at_days, shown)
    weights = np.linalg.lstsq(np.column_stack([np.ones(n), design]), around, rcond=None)[0][1:]
    day = _waves(hours - units.start_s[0] / DAY_S, shown) @ weights
    return DailyCycle(
        p=min(1.0, _HARMONICS * min(found)),
        amplitude=float(np.ptp(day)) / 2,
        noise=2 / n * math.sqrt(float(np.mean(_power(around, at_days, others)))),
        neighbours=len(others),
        fitted=design @ weights,
        lowest=24 * float(hours[day.argmin()]),
        highest=24 * float(hours[day.argmax()]),
    )


def _neighbour_frequencies(cycles: int, days: float, unit_s: float) -> FloatArray:
    """Up to 12 Fourier frequencies next to `cycles` per day, without its harmonics."""
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
    return Level(values, interval, order, tau, precision, confidence)


@dataclass(frozen=True, eq=False)
class TimeOfDay:
    """One series over days.

    Attributes
    ----------
    values : array, shape (n,)
        In order of time.
    units : UnitMedians
    cycle : DailyCycle or str
        The reason where a daily cycle cannot be tested.
    precision, confidence : float
    tested : int
        Series whose daily cycles are tested together, by which the test is corrected (Bonferroni).
    """

    values: FloatArray
    units: UnitMedians
    cycle: DailyCycle | Untested
    precision: float
    confidence: float
    tested: int = 1

    @property
    def p(self) -> float | None:
        """Of the daily cycle, corrected for all series tested; None: not tested."""
        return None if isinstance(self.cycle, str) else self.cycle.corrected_p(self.tested)

    @property
    def detectable(self) -> float | None:
        """Amplitude that is found in 90 %, corrected likewise; None: not tested."""
        return None if isinstance(self.cycle, str) else self.cycle.detectable(self.tested)

    @property
    def is_daily(self) -> bool | None:
        """Whether a daily cycle is shown; None: none is, but one above the precision may exist."""
        if self.p is None or self.detectable is None:
            return None
        if self.p < ALPHA:
            return True
        share = self.share(self.detectable)
        return False if share is not None and share <= self.precision else None

    def share(self, amplitude: float) -> float | None:
        """Relate an amplitude to the median of the medians; None where that is not positive."""
        middle = median(self.units.values)
        return amplitude / middle if middle > 0 else None

    @cached_property
    def samples(self) -> Level:
        """All values, their interval as if they were independent."""
        return level_of(self.values, self.precision, self.confidence, widened=False)

    @cached_property
    def medians(self) -> Level:
        """Medians of all units."""
        return level_of(self.units.values, self.precision, self.confidence)

    @cached_property
    def changes(self) -> Changes:
        """Level shifts or a drift of the medians, without a shown daily cycle."""
        values = self.units.values
        if self.is_daily and not isinstance(self.cycle, str):
            values = values - self.cycle.fitted
        return changes(values, self.precision)

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
        shift and the smallest daily amplitude that matter.
    confidence : float
        Of the intervals.
    unit_s : float
        Length of a unit of time.

    Returns
    -------
    TimeOfDay or None
        None with fewer than 6 units.
    """
    at_s, values = checked.pair(at_s, values, ("at_s", "values"))
    in_time = np.argsort(at_s, kind="stable")
    ordered = values[in_time]
    units = unit_medians(at_s[in_time], ordered, unit_s)
    if len(units) < FEWEST:
        return None
    return TimeOfDay(ordered, units, daily_cycle(units), precision, confidence)


def as_one_family(some: Sequence[TimeOfDay]) -> list[TimeOfDay]:
    """Correct the tests of daily cycles for the number of series that are tested."""
    tested = sum(not isinstance(one.cycle, str) for one in some)
    return [replace(one, tested=max(1, tested)) for one in some]


def _longest(found: Changes, n: int) -> tuple[int, int] | None:
    """Return the longest stretch between level shifts; None: a drift leaves none."""
    if found.ok is not False:
        return 0, n
    if found.drift is not None:
        return None
    ends = [0, *found.points, n]
    return max(pairwise(ends), key=lambda one: one[1] - one[0])
