"""Medians per unit of time: daily course, stationary stretches, and CONFIRM over them.

One analysis for experiments, audits and measured networks, of series that last for hours or days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.level_names import at_levels
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import Chart
from tare.render.words import paragraph
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Amount, Chosen, Duration, Message, message
from tare.results.report import Figure
from tare.statistics.intervals import quantile_interval
from tare.statistics.statistic import median
from tare.statistics.time_of_day import ALPHA, DAY_S, HOUR_S, WEEK_S, Level, TimeOfDay, time_of_day
from tare.units import p_value

#: Series that have sentences and rows by hour, and lines in the charts.
_MOST_SERIES = 6

_DESCRIPTION = Description(
    name="time_of_day",
    title="Medians per hour: daily course, stationary stretches, CONFIRM over them",
    question="Do values depend on the time of day?",
    source="CLOUDNET, F5.4",
)


@dataclass(frozen=True, eq=False)
class Timed:
    """One series over time, analysed.

    Attributes
    ----------
    name : str
        What tells it from the others; empty where it is the only one.
    unit : str
        Of its values.
    found : TimeOfDay
    """

    name: str
    unit: str
    found: TimeOfDay


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
        if one is not None:
            found.append(Timed(at_levels(cell.levels, results.varied), basis.unit, one))
    return tuple(found)


def find(results: Results) -> Finding | None:
    """Report how trial values depend on the time of day; None where nothing lasts long enough."""
    return finding(timed(results))


def finding(some: Sequence[Timed]) -> Finding | None:
    """Answer for some series; None for no series."""
    if not some:
        return None
    tested = [one for one in some if one.found.course is not None]
    daily = [one for one in tested if is_daily(one, len(tested))]
    some = [*daily, *(one for one in some if one not in daily)]
    answers = [said for one in some[:_MOST_SERIES] for said in sentences(one, len(tested))]
    more = len(some) - _MOST_SERIES
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=(*answers, *([message("time_of_day.more", n=more)] if more > 0 else ())),
        verdict="yes" if daily else "no" if len(tested) == len(some) else "inconclusive",
        settle=None if daily or tested else message("time_of_day.settle"),
        summary=(_course(daily[0], len(tested)),) if daily else None,
        caveats=tuple(
            message("time_of_day.left_out", name=one.name, n=one.found.units.left_out)
            for one in some
            if one.found.units.left_out
        ),
        tables=(_levels(some), _hours(some[:_MOST_SERIES])),
        charts=("time_of_day", "time_of_week"),
    )


def is_daily(one: Timed, tested: int) -> bool:
    """Whether a daily course is shown where so many series are tested together (Bonferroni)."""
    return one.found.course is not None and one.found.course.p * tested < ALPHA


def _unit(one: Timed) -> str:
    """Name a unit of time before a noun: "hourly", "30 min"."""
    unit_s = one.found.units.unit_s
    return "hourly" if unit_s == HOUR_S else f"{unit_s / 60:g} min"


def sentences(one: Timed, tested: int = 1) -> list[Message]:
    """Say what is known of one of some series: course, stationarity, median, independence."""
    said = [_course(one, tested), _stationary(one), _level(one)]
    samples, medians = one.found.samples, one.found.medians
    if samples.dependence > 1 and samples.median.half_width and medians.median.half_width:
        said.append(
            message(
                "time_of_day.samples",
                n=len(samples.values),
                effective=round(len(samples.values) / samples.dependence),
                half=Amount(samples.median.half_width, "share"),
            )
        )
    return said


def _course(one: Timed, tested: int = 1) -> Message:
    course = one.found.course
    days = Duration(one.found.units.days * DAY_S)
    if course is None:
        return message("time_of_day.few", name=one.name, length=days)
    if not is_daily(one, tested):
        return message(
            "time_of_day.none",
            name=one.name,
            length=days,
            detectable=Amount(course.detectable, "share"),
        )
    return message(
        "time_of_day.course",
        name=one.name,
        unit=_unit(one),
        amplitude=Amount(course.amplitude, "share"),
        lowest=_hour(course.lowest),
        highest=_hour(course.highest),
        p=p_value(course.p),
    )


def _stationary(one: Timed) -> Message:
    found, units = one.found, one.found.units
    days = Duration(units.days * DAY_S)
    if found.is_whole:
        return message("time_of_day.stationary", length=days)
    if found.stretch is None:
        return message("time_of_day.drift", said=found.changes.sentence)
    first, last = found.stretch[0], found.stretch[1] - 1
    stable = found.stable
    return message(
        "time_of_day.stretch",
        n=len(found.changes.points),
        length=Duration(float(units.start_s[last] + units.unit_s - units.start_s[first])),
        begin=_moment(units.start_s[first]),
        end=_moment(units.start_s[last] + units.unit_s),
        median=None if stable is None else _amount(stable, one.unit),
    )


def _level(one: Timed) -> Message:
    medians = one.found.medians
    return message(
        "time_of_day.level",
        unit=_unit(one),
        n=len(medians.values),
        median=_amount(medians, one.unit),
        needed=medians.needed if one.found.is_whole else None,
        whole=one.found.is_whole,
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
        title=message("time_of_day.levels"),
        columns=(
            *((Column(key="series", title="series"),) if len(some) > 1 else ()),
            Column(key="of", title="values"),
            Column(key="n", title="n"),
            *interval_columns("median", "median", unit),
            Column(key="needed", title="CONFIRM"),
            Column(key="worth", title="independent values"),
            Column(key="normal", title="normal"),
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
                ("samples", one.found.samples),
                (f"{_unit(one)} medians", one.found.medians),
                ("of the stationary stretch", one.found.stable),
            )
            if level is not None
        ),
        note=message("time_of_day.note", precision=Chosen(some[0].found.medians.precision)),
    )


def _hours(some: Sequence[Timed]) -> Table:
    return Table(
        id="hours",
        title=message("time_of_day.hours"),
        columns=(
            *((Column(key="series", title="series"),) if len(some) > 1 else ()),
            Column(key="at", title="from (UTC)"),
            Column(key="days", title="days"),
            *interval_columns("median", "median", some[0].unit),
        ),
        rows=tuple({"series": one.name, **row} for one in some for row in _by_hour(one)),
    )


def _by_hour(one: Timed) -> list[dict[str, Any]]:
    units = one.found.units
    slots = units.folded(DAY_S)
    rows = []
    for slot in np.unique(slots).tolist():
        values = units.values[slots == slot]
        interval = quantile_interval(values, 0.5, one.found.medians.confidence)
        rows.append(
            {
                "at": _hour(slot * units.unit_s / HOUR_S),
                "days": len(values),
                "median": interval.estimate,
                "low": interval.low,
                "high": interval.high,
            }
        )
    return rows


def day_chart(some: Sequence[Timed]) -> Chart | None:
    """Draw the median of each hour of the day over all days, with its interval over days."""
    drawn = []
    for one in some[:_MOST_SERIES]:
        rows = _by_hour(one)
        at, middle, low, high = (
            [row[key] for row in rows] for key in ("at", "median", "low", "high")
        )
        hours = [int(text[:2]) + int(text[3:]) / 60 for text in at]
        drawn.append(Line(one.name or "median over days", hours, middle, low, high))
    axis = Axis("hour of the day (UTC)", "1", even=True)
    return lines([("", drawn)], axis, Axis("value", some[0].unit)) if drawn else None


def week_chart(some: Sequence[Timed]) -> Chart | None:
    """Draw the median of each hour of the week; None with fewer than two weeks."""
    drawn = []
    for one in some[:_MOST_SERIES]:
        units = one.found.units
        if units.days * DAY_S < 2 * WEEK_S:
            continue
        slots = units.folded(WEEK_S)
        places = np.unique(slots)
        middle = [median(units.values[slots == slot]) for slot in places]
        days = (places * units.unit_s / DAY_S).tolist()
        drawn.append(Line(one.name or "median over weeks", days, middle))
    axis = Axis("day of the week (UTC, 0: Monday)", "1", even=True)
    return lines([("", drawn)], axis, Axis("value", some[0].unit)) if drawn else None


def figures(some: Sequence[Timed], suffix: str = "") -> list[Figure]:
    """Draw what a page shows that is not of an experiment."""
    drawn = (
        ("time-of-day", "By time of the day", day_chart(some), day_described(some)),
        ("time-of-week", "By time of the week", week_chart(some), week_described(some)),
    )
    return [
        Figure(f"{name}{suffix}", title, chart, paragraph(said))
        for name, title, chart, said in drawn
        if chart is not None
    ]


def day_described(some: Sequence[Timed]) -> tuple[Message, ...]:
    """Say in words what :func:`day_chart` shows."""
    courses = (_course(one, len(some)) for one in some[:_MOST_SERIES])
    return (message("time_of_day.chart.day"), *courses)


def week_described(some: Sequence[Timed]) -> tuple[Message, ...]:
    """Say in words what :func:`week_chart` shows."""
    return (message("time_of_day.chart.week"),)


UNIT = FindingUnit(description=_DESCRIPTION, order=86, find=find, of_rates=True)
