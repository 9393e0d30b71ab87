"""Medians per unit of time: daily and weekly cycle, stationary stretches, CONFIRM over them.

One analysis for experiments, audits and measured networks, of series that last for hours or days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.level_names import at_levels
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import Chart
from tare.render.words import paragraph
from tare.results.finding import Column, Finding, Table, columns_of, interval_columns
from tare.results.message import Amount, Chosen, Duration, Message, Value, message
from tare.results.report import Figure
from tare.statistics.intervals import quantile_interval
from tare.statistics.statistic import FloatArray, median
from tare.statistics.time_of_day import (
    DAY_S,
    FEWEST_PERIODS,
    FEWEST_UNITS,
    FIRST_WEEKDAY,
    HOUR_S,
    WEEK_S,
    CycleTest,
    Level,
    TimeOfDay,
    as_one_family,
    time_of_day,
)
from tare.units import p_value

_UNTESTED_TEXTS = {
    "days": (
        "{% if name %}{name}: {% endif %}a daily cycle cannot be tested: {length} are less than "
        "3 days"
    ),
    "weeks": (
        "{% if name %}{name}: {% endif %}a weekly cycle cannot be tested: {n} weeks, {needed} "
        "needed"
    ),
    "units": (
        "{% if name %}{name}: {% endif %}a {cycle} cycle cannot be tested: {n} units of time have "
        "values, {needed} are needed"
    ),
    "coarse": (
        "{% if name %}{name}: {% endif %}a {cycle} cycle cannot be tested: units of time of "
        "more than 4 h do not resolve it"
    ),
    "equal": (
        "{% if name %}{name}: {% endif %}a {cycle} cycle cannot be tested: all medians are equal"
    ),
}
_SETTLE_TEXTS = {
    "days": "measure for 3 days or longer",
    "weeks": "measure for 3 weeks or longer",
    "units": "measure in more units of time",
    "coarse": "take medians of 4 h or less",
}
_DESCRIBED_TEXTS = {
    "day": "Median over days at each time of day; the band is its interval over days",
    "week": "Median over weeks at each time of the week",
}

#: Series that have rows by hour, and lines in the charts.
_MOST_SERIES = 6
#: Series with a sentence each after the one on all series, and rows in the table of levels.
_MOST_SENTENCES, _MOST_ROWS = 4, 60

_DESCRIPTION = Description(
    name="time_of_day",
    title="Medians per hour: daily cycle, stationary stretches, CONFIRM over them",
    question="Do values depend on the time of day?",
    source="CLOUDNET, F5.4",
)
WEEK_DESCRIPTION = Description(
    name="time_of_week",
    title="Medians per hour: weekly cycle, such as weekdays vs. weekends",
    question="Do values depend on the day of the week?",
    source="CLOUDNET, F5.4",
)

#: The field of an analysis that holds the test of a cycle, and the cycle's adjective.
_Period = Literal["day", "week"]
_ADJECTIVES = {"day": "daily", "week": "weekly"}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, eq=False)
class Timed:
    """One series over time, analysed.

    Attributes
    ----------
    name : str
        Levels by which it differs from the other series; empty where it is the only one.
    unit : str
        Of its values.
    analysis : TimeOfDay
        Tested together with the other series.
    """

    name: str
    unit: str
    analysis: TimeOfDay

    def test(self, period: _Period) -> CycleTest:
        """Return the test of the daily or of the weekly cycle."""
        return self.analysis.day if period == "day" else self.analysis.week


def together(some: Iterable[tuple[str, str, TimeOfDay | None]]) -> tuple[Timed, ...]:
    """Put names, units and analyses together, tests corrected for the number of series."""
    known = [(name, unit, one) for name, unit, one in some if one is not None]
    corrected = as_one_family([one for _, _, one in known])
    pairs = zip(known, corrected, strict=True)
    return tuple(Timed(name, unit, one) for (name, unit, _), one in pairs)


@lru_cache(maxsize=4)
def timed(results: Results) -> tuple[Timed, ...]:
    """Analyse the trial values of each cell over time; empty where no cell lasts for 6 hours."""
    basis = basis_of(results)
    begun = results.begun_s()
    if isinstance(basis, Message) or not begun:
        return ()
    found = []
    for cell in cells_of(results, basis).all:
        at_s = np.array([begun.get(trial, np.nan) for trial in cell.row_trials.tolist()])
        known = np.isfinite(at_s)
        one = time_of_day(
            at_s[known], cell.trial_values[known], results.experiment.stopping.precision
        )
        found.append((at_levels(cell.levels, results.varied), basis.unit, one))
    return together(found)


def find(results: Results) -> Finding | None:
    """Report how trial values depend on the time of day; None where nothing lasts long enough."""
    return finding(timed(results))


def finding(some: Sequence[Timed]) -> Finding | None:
    """Report how series depend on the time of day; None for no series."""
    if not some:
        return None
    some = _ordered(some, "day")
    return _finding(some, "day", sentences(some), (_levels(some[:_MOST_ROWS]),))


def week_finding(some: Sequence[Timed]) -> Finding | None:
    """Report how series depend on the day of the week; None where all last less than 3 days."""
    if all(one.analysis.day.cycle == "days" for one in some):
        return None
    some = _ordered(some, "week")
    return _finding(some, "week", week_sentences(some))


def _ordered(some: Sequence[Timed], period: _Period) -> list[Timed]:
    """Put series that follow a cycle first."""
    return sorted(some, key=lambda one: not one.test(period).is_shown)


def _finding(
    some: Sequence[Timed],
    period: _Period,
    answer: tuple[Message, ...],
    tables: tuple[Table, ...] = (),
) -> Finding:
    asked = _DESCRIPTION if period == "day" else WEEK_DESCRIPTION
    shown = [one.test(period).is_shown for one in some]
    left_out = [n for one in some if (n := one.analysis.units.left_out)]
    settle = _settle(some[shown.index(None)].test(period), period) if None in shown else None
    return answered(
        asked,
        answer=answer,
        verdict="yes" if shown[0] else "inconclusive" if None in shown else "no",
        settle=None if shown[0] else settle,
        summary=answer[:1] if shown[0] else None,
        caveats=(
            message(
                "left out, with fewer than half as many values as usual: {n | counted('unit')} "
                "of time{% if series > 1 %} in {series} series{% endif %}",
                n=sum(left_out),
                series=len(left_out),
            ),
        )
        if left_out
        else (),
        tables=(*tables, _medians_table(some[:_MOST_SERIES], period)),
        charts=(asked.name,),
    )


def _settle(test: CycleTest, period: _Period) -> Message | None:
    """Return which more data would show whether there is a cycle; None: no amount would."""
    cycle = test.cycle
    if isinstance(cycle, str):
        return None if cycle == "equal" else message(_SETTLE_TEXTS[cycle])
    if test.share(cycle.amplitude) is None:
        return None
    return message(
        "measure for longer, until a {cycle} cycle of ± {precision} would be found",
        cycle=_ADJECTIVES[period],
        precision=Chosen(test.precision),
    )


def _unit(one: Timed) -> str:
    """Name a unit of time before a noun: "hourly", "30 min", "6 h"."""
    unit_s = one.analysis.units.unit_s
    if unit_s == HOUR_S:
        return "hourly"
    return f"{unit_s / 60:g} min" if unit_s % HOUR_S else f"{unit_s / HOUR_S:g} h"


def sentences(some: Sequence[Timed]) -> tuple[Message, ...]:
    """Say what is known, of one series: daily cycle, stationarity, median, independence."""
    if len(some) > 1:
        return _cycles(some, "day")
    (one,) = some
    said = [*_cycles(some, "day"), _stationary(one), _level(one)]
    samples, medians = one.analysis.samples, one.analysis.medians
    if samples.dependence > 1 and samples.median.half_width and medians.median.half_width:
        said.append(
            message(
                "the interval of the median of all {n} samples, ± {half}, is too narrow: "
                "they are autocorrelated and count as about {effective} independent ones",
                n=len(samples.values),
                effective=round(len(samples.values) / samples.dependence),
                half=Amount(samples.median.half_width, "share"),
            )
        )
    return tuple(said)


def week_sentences(some: Sequence[Timed]) -> tuple[Message, ...]:
    """Say whether a weekly cycle is shown: of all series, then of the first ones."""
    return _cycles(some, "week")


def _cycles(some: Sequence[Timed], period: _Period) -> tuple[Message, ...]:
    """Say whether a cycle is shown: of all series, then of the first ones."""
    if len(some) == 1:
        return (_cycle(some[0], period),)
    tests = [one.test(period) for one in some]
    more = len(some) - _MOST_SENTENCES
    return (
        message(
            "a {cycle} cycle {% if tested %}is shown in {shown or 'none'} of {n} series ("
            "{tested | counted('test')}, corrected for their number){% else %}can be tested "
            "in none of {n} series{% endif %}",
            cycle=_ADJECTIVES[period],
            shown=sum(test.is_shown is True for test in tests),
            n=len(some),
            tested=sum(not isinstance(test.cycle, str) for test in tests),
        ),
        *(_cycle(one, period) for one in some[:_MOST_SENTENCES]),
        *([message("{n} more series are not described here", n=more)] if more > 0 else ()),
    )


def _cycle(one: Timed, period: _Period) -> Message:
    """Say whether a series follows a cycle; if it is not tested, why."""
    units, test, kind = one.analysis.units, one.test(period), _ADJECTIVES[period]
    cycle, length = test.cycle, Duration(units.days * DAY_S)
    if isinstance(cycle, str):
        # Rounded down: 2.99 weeks are not 3.
        weeks = f"{math.floor(10 * units.days / 7) / 10:g}"
        why: dict[str, dict[str, Value]] = {
            "days": {"length": length},
            "weeks": {"n": weeks, "needed": FEWEST_PERIODS},
            "units": {"cycle": kind, "n": len(units), "needed": FEWEST_UNITS},
        }
        return message(_UNTESTED_TEXTS[cycle], name=one.name, **why.get(cycle, {"cycle": kind}))
    if not test.is_shown:
        return message(
            "{% if name %}{name}: {% endif %}no {cycle} cycle is shown over {length}; one of "
            "± {detectable} would have been found in 90 % of cases",
            name=one.name,
            cycle=kind,
            length=length,
            detectable=_relative(one, cycle.detectable(test.tested)),
        )
    lowest, highest = (
        _hour(hour) if period == "day" else _WEEKDAYS[int(hour // 24)]
        for hour in (cycle.lowest, cycle.highest)
    )
    return message(
        (
            "{% if name %}{name}: {% endif %}the {unit} medians follow the time of day by ± "
            "{amplitude}: lowest at {lowest}, highest at {highest} UTC ({p})"
        )
        if period == "day"
        else (
            "{% if name %}{name}: {% endif %}the {unit} medians follow the day of the week "
            "by ± {amplitude}: lowest on {lowest}, highest on {highest} (UTC; {p})"
        ),
        name=one.name,
        unit=_unit(one),
        amplitude=_relative(one, cycle.amplitude),
        lowest=lowest,
        highest=highest,
        p=p_value(cycle.corrected_p(test.tested)),
    )


def _relative(one: Timed, amplitude: float) -> Amount:
    """Express an amplitude as a share of the median, or in its unit if that is not positive."""
    share = one.analysis.day.share(amplitude)
    return Amount(amplitude, one.unit) if share is None else Amount(share, "share")


def _stationary(one: Timed) -> Message:
    found, units = one.analysis, one.analysis.units
    days = Duration(units.days * DAY_S)
    if found.is_whole:
        return message("no level shift or drift is shown in {length}", length=days)
    if found.stretch is None:
        return message("{said}; no stretch is stationary", said=found.changes.sentence)
    first, last = found.stretch[0], found.stretch[1] - 1
    stable = found.stable
    return message(
        "the level shifts{% if n > 1 %} {n} times{% endif %}; the longest stationary stretch "
        "lasts {length}, from {begin} to {end} UTC{% if median %}, with a median of {median}"
        "{% endif %}",
        n=len(found.changes.points),
        length=Duration(float(units.start_s[last] + units.unit_s - units.start_s[first])),
        begin=_moment(units.start_s[first]),
        end=_moment(units.start_s[last] + units.unit_s),
        median=None if stable is None else _amount(stable, one.unit),
    )


def _level(one: Timed) -> Message:
    medians = one.analysis.medians
    return message(
        "the median of {n} {unit} medians is {median}{% if effective %}; they are "
        "autocorrelated and count as about {effective} independent ones, by which the "
        "interval is widened{% endif %}{% if needed %}. CONFIRM: {needed} of them for ± "
        "{precision}{% elif whole %}. CONFIRM: ± {precision} is not reached{% endif %}",
        unit=_unit(one),
        n=len(medians.values),
        median=_amount(medians, one.unit),
        needed=medians.needed if one.analysis.is_whole else None,
        whole=one.analysis.is_whole,
        precision=Chosen(medians.precision),
        effective=None
        if medians.dependence == 1
        else max(1, round(len(medians.values) / medians.dependence)),
    )


def _amount(level: Level, unit: str) -> Amount:
    return Amount(level.median.estimate, unit, level.median.low, level.median.high)


def _hour(hour: float) -> str:
    return f"{int(hour):02}:{round(60 * (hour % 1)):02}"


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(float(seconds), UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        # A file from elsewhere may have any number.
        return "unknown"


def _levels(some: Sequence[Timed]) -> Table:
    """Put the assumptions of samples, of medians and of the stationary stretch side by side."""
    unit = some[0].unit
    return Table(
        id="levels",
        title=message("Samples and medians: assumptions of the intervals"),
        columns=(
            *((Column(key="series", title="series"),) if len(some) > 1 else ()),
            *columns_of(of="values", n="n"),
            *interval_columns("median", "median", unit),
            *columns_of(needed="CONFIRM", worth="independent values", normal="normal"),
            Column(key="stationary", title="stationary"),
        ),
        rows=tuple(
            {
                "series": one.name,
                "of": what,
                "n": len(level.values),
                "median": level.median.estimate,
                "low": level.median.low,
                "high": level.median.high,
                "needed": level.needed,
                "worth": None
                if level.independent is None
                else round(len(level.values) / level.dependence),
                "normal": level.normality.ok,
                "stationary": level.stationarity.verdict,
            }
            for one in some
            for what, level in (
                ("samples", one.analysis.samples),
                (f"{_unit(one)} medians", one.analysis.medians),
                ("of the stationary stretch", one.analysis.stable),
            )
            if level is not None
        ),
        note=message(
            "CONFIRM: number of values for ± {precision}, times the dependence. The interval "
            "of the samples is the one of independent values",
            precision=Chosen(some[0].analysis.medians.precision),
        ),
    )


def _medians_table(some: Sequence[Timed], period: _Period) -> Table:
    """Lay out the median at each hour of the day, or at each day of the week."""
    if period == "day":
        name, rows_of = "hours", _by_hour
        title = message("Median by time of day, with its interval over days")
        columns = Column(key="at", title="from (UTC)"), Column(key="days", title="days")
    else:
        name, rows_of = "weekdays", _by_weekday
        title = message("Median by day of the week, with its interval over weeks")
        columns = Column(key="day", title="day (UTC)"), Column(key="weeks", title="weeks")
    return Table(
        id=name,
        title=title,
        columns=(
            *((Column(key="series", title="series"),) if len(some) > 1 else ()),
            *columns,
            *interval_columns("median", "median", some[0].unit),
        ),
        rows=tuple({"series": one.name, **row} for one in some for row in rows_of(one)),
    )


def _median_cells(one: Timed, values: FloatArray) -> dict[str, float | None]:
    """Return the median of some values, with its interval, as cells of a row."""
    interval = quantile_interval(values, 0.5, one.analysis.confidence)
    return {"median": interval.estimate, "low": interval.low, "high": interval.high}


def _by_hour(one: Timed) -> list[dict[str, Any]]:
    units = one.analysis.units
    slots = units.folded(DAY_S)
    rows = []
    for slot in np.unique(slots).tolist():
        values = units.values[slots == slot]
        at = _hour(slot * units.unit_s / HOUR_S)
        rows.append({"at": at, "days": len(values), **_median_cells(one, values)})
    return rows


def _by_weekday(one: Timed) -> list[dict[str, Any]]:
    """Return the median of the daily medians of each weekday, with its interval over weeks."""
    units = one.analysis.units
    # Medians of one day depend on each other: only days are replicates.
    days = np.floor(units.start_s / DAY_S).astype(int)
    by_day = {day: median(units.values[days == day]) for day in np.unique(days).tolist()}
    rows = []
    for i, weekday in enumerate(_WEEKDAYS):
        values = np.array(
            [value for day, value in by_day.items() if (day + FIRST_WEEKDAY) % 7 == i]
        )
        if len(values):
            rows.append({"day": weekday, "weeks": len(values), **_median_cells(one, values)})
    return rows


def chart(some: Sequence[Timed], period: _Period) -> Chart | None:
    """Draw the median at each time of the day, with its interval over days, or of the week.

    None where no series has two weeks.
    """
    line, title = {
        "day": (_day_line, "hour of the day (UTC)"),
        "week": (_week_line, "day of the week (UTC, 0: Monday)"),
    }[period]
    drawn = [found for one in some[:_MOST_SERIES] if (found := line(one)) is not None]
    axes = Axis(title, "1", even=True), Axis("value", some[0].unit if some else "1")
    return lines([("", drawn)], *axes) if drawn else None


def _day_line(one: Timed) -> Line:
    rows = _by_hour(one)
    at, middle, low, high = ([row[key] for row in rows] for key in ("at", "median", "low", "high"))
    hours = [int(text[:2]) + int(text[3:]) / 60 for text in at]
    return Line(one.name or "median over days", hours, middle, low, high)


def _week_line(one: Timed) -> Line | None:
    units = one.analysis.units
    if units.days * DAY_S < 2 * WEEK_S:
        return None
    slots = units.folded(WEEK_S)
    places = np.unique(slots)
    middle = [median(units.values[slots == slot]) for slot in places]
    days = (places * units.unit_s / DAY_S).tolist()
    return Line(one.name or "median over weeks", days, middle)


def described(some: Sequence[Timed], period: _Period) -> tuple[Message, ...]:
    """Say in words what :func:`chart` shows."""
    cycles = (_cycle(one, period) for one in some[:_MOST_SERIES])
    return (message(_DESCRIBED_TEXTS[period]), *cycles)


def _figures(some: Sequence[Timed], suffix: str = "", *, period: _Period) -> tuple[Figure, ...]:
    """Draw the chart for a page that is not of an experiment."""
    drawn = chart(some, period)
    if drawn is None:
        return ()
    name, title = f"time-of-{period}{suffix}", f"By time of the {period}"
    return (Figure(name, title, drawn, paragraph(described(some, period))),)


day_figures = partial(_figures, period="day")
week_figures = partial(_figures, period="week")

UNIT = FindingUnit(description=_DESCRIPTION, order=86, find=find, of_rates=True)
