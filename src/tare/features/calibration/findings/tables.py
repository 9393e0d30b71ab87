"""The tables of a calibration: its points, its ranges with their causes, its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tare.experiment.sweep import messages
from tare.experiment.sweep.axis import AXES, MB_BYTES, AxisName
from tare.experiment.sweep.document import Calibration, Interval, Point
from tare.experiment.sweep.numbers import span
from tare.experiment.sweep.rates import unit_for
from tare.render.words import text
from tare.results.finding import Column, Table
from tare.results.message import Chosen, Message, message
from tare.statistics.regression import Line
from tare.statistics.scaling import Scaling

_TABLE_TEXTS = {
    "points": "All steps{% if subject %}: {subject}{% endif %}",
    "regimes": "Ranges and their causes{% if subject %}: {subject}{% endif %}",
    "models": "One straight line, as CALIBRATE fits it{% if subject %}: {subject}{% endif %}",
}

_STEPS = {
    "quota": "CPU requested (quota)",
    "cpuset": "CPUs given",
    "memory": "CPU that comes with it",
}
_LINES_NOTE = (
    "Slope, intercept and R²: ordinary least squares over all trials, intervals with HC3 errors; "
    "p: plain errors, as in CALIBRATE and R's lm, so that it may contradict the interval. Verdict "
    "and largest error: the best of one, two and three lines through the means (1.5 × BIC), "
    "weighted by how errors grow; charts show these. A high R² does not mean linear."
)
_CAUSES = {
    "none": "–",
    "frequency": "frequency",
    "heat": "heat",
    "steal": "time stolen by the hypervisor",
    "quota": "quota not delivered",
    "saturated": "no more can be used",
    "unseen": "unknown",
}


def points_table(found: Calibration, *, several: bool) -> Table:
    """Lay out every step: CPU time asked for, CPU time delivered, work done."""
    size, unit = _unit(found)
    along = AXES[found.axis]
    columns = (
        Column(key="memory", title="memory, MB", unit="1"),
        Column(key="cpus", title=_STEPS[found.by], unit="1"),
        *with_ends("rate", "speed", unit),
        *with_ends("delivered", "CPU delivered", "1"),
        Column(key="each", title=f"{unit} per {along.per}", unit="1"),
        Column(key="clock_hz", title="clock (chain)", unit="Hz"),
        Column(key="frequency_hz", title="frequency (cpufreq)", unit="Hz"),
        Column(key="throttled", title="periods throttled", unit="%"),
        Column(key="steal", title="CPUs stolen", unit="1"),
        Column(key="heat", title="thermal throttles", unit="1"),
        Column(key="residual", title="largest residual", unit="1"),
        Column(key="n", title="n"),
    )
    return Table(
        title=_title("points", found, several=several),
        columns=columns,
        rows=tuple(_point_row(p, size, found) for p in found.points),
        note=message(
            "Means of trials with 95 % intervals (Student's t). "
            "Speed: work of all workers over the wall time of windows of whole quota periods. CPU "
            "delivered: their own CPU time in the window. Clock: by chains of dependent additions "
            "between the pieces of work."
        ),
    )


def _point_row(point: Point, size: float, found: Calibration) -> dict[str, Any]:
    share = point.throttled_share
    return {
        "memory": _megabytes(point),
        "cpus": point.cpus,
        **ends("rate", point.rate, size),
        **ends("delivered", point.delivered, 1.0),
        "each": point.rate.value / size / found.place(point) * AXES[found.axis].places_per,
        "clock_hz": point.clock_hz,
        "frequency_hz": point.frequency_hz,
        "throttled": None if share is None else 100 * share,
        "steal": point.steal_cpus,
        "heat": point.thermal_throttles,
        "residual": point.residual,
        "n": point.n,
    }


def _megabytes(point: Point) -> int | None:
    return None if point.memory_bytes is None else round(point.memory_bytes / MB_BYTES)


def with_ends(key: str, title: str, unit: str) -> tuple[Column, ...]:
    """Return the columns of a value with its interval."""
    titles = {"": title, "_low": "from", "_high": "to"}
    return tuple(Column(key=f"{key}{end}", title=t, unit=unit) for end, t in titles.items())


def ends(key: str, interval: Interval | None, size: float) -> dict[str, float | None]:
    """Return the cells of :func:`with_ends`, in the unit of the columns."""
    if interval is None:
        return {key: None, f"{key}_low": None, f"{key}_high": None}
    low, high = interval.low, interval.high
    return {
        key: interval.value / size,
        f"{key}_low": None if low is None else low / size,
        f"{key}_high": None if high is None else high / size,
    }


def regimes_table(found: Calibration, *, several: bool) -> Table:
    """Lay out the ranges: how fast each is, and why."""
    return Table(
        title=_title("regimes", found, several=several),
        columns=(
            Column(key="range", title="range"),
            Column(
                key="speed",
                title=f"work per {AXES[found.axis].per}, relative to the fastest range",
                unit="%",
            ),
            Column(key="cause", title="cause"),
            Column(key="evidence", title="evidence"),
        ),
        rows=tuple(
            {
                "range": text(span(r.start, r.end, found.axis)),
                "speed": 100 * r.relative_speed,
                "cause": _CAUSES[r.cause],
                "evidence": r.evidence,
            }
            for r in found.regimes
        ),
        note=message("A cause explains at least half of the loss; otherwise it is unknown."),
    )


def models_tables(found: Calibration, *, several: bool) -> Iterator[Table]:
    """Lay out one straight line against what was asked for, and against the CPU delivered."""
    kinds = {"requested": found.asked, "delivered": found.delivered}
    title, unit = _title("models", found, several=several), _unit(found)
    if found.axis == "cpu":
        yield lines_table(title, kinds, *unit)
        return
    yield lines_table(title, {"requested": found.asked}, *unit, found.axis)
    if found.delivered is not None:
        yield lines_table(title, {"delivered": found.delivered}, *unit)


def lines_table(
    title: Message | str,
    kinds: Mapping[str, Scaling | None],
    size: float,
    unit: str,
    axis: AxisName = "cpu",
) -> Table:
    """Return a table of CALIBRATE's straight line for each kind of resource."""
    along = AXES[axis]
    # Numbers of a published line are as somebody wrote them.
    published = any(model is not None and not model.line.n for model in kinds.values())
    columns, cells, written = (_column, _cell, _written) if published else (with_ends, ends, float)
    return Table(
        title=title,
        columns=(
            Column(key="against", title=f"against the {along.resource}"),
            *columns("slope", f"slope, {unit} per {along.per}", "1"),
            *columns("intercept", "intercept", unit),
            Column(key="r2", title="R²", unit="1"),
            Column(key="p", title="p (slope)", unit="1"),
            Column(key="maximum", title="maximum", unit=unit),
            Column(key="error", title="largest error", unit="%"),
            Column(key="verdict", title="verdict"),
            Column(key="n", title="n"),
        ),
        rows=tuple(
            {
                "against": kind,
                **cells("slope", part_of(model.line, "slope"), size / along.places_per),
                **cells("intercept", part_of(model.line, "intercept"), size),
                "r2": model.line.r2,
                "p": model.line.p,
                "maximum": written(model.line.maximum / size),
                "error": None if model.largest_error is None else 100 * model.largest_error,
                "verdict": None if published else model.verdict,
                "n": model.line.n or None,
            }
            for kind, model in kinds.items()
            if model is not None
        ),
        note=None if published else _LINES_NOTE,
    )  # fmt: skip


def _written(value: float) -> Chosen:
    return Chosen(float(f"{value:.9g}"), "1")


def _column(key: str, title: str, unit: str) -> tuple[Column, ...]:
    return (Column(key=key, title=title if unit == "1" else f"{title}, {unit}", unit="1"),)


def _cell(key: str, found: Interval, size: float) -> dict[str, Any]:
    return {key: _written(found.value / size)}


def part_of(line: Line, name: str) -> Interval:
    """Return the slope or the intercept of a line with its interval."""
    value, low, high = (getattr(line, f"{name}{end}") for end in ("", "_low", "_high"))
    return Interval(value=value, low=low, high=high)


def _unit(found: Calibration) -> tuple[float, str]:
    return unit_for(found.work, [p.rate.value for p in found.points])


def _title(table: str, found: Calibration, *, several: bool) -> Message:
    subject = messages.subject(found) if several else None
    return message(_TABLE_TEXTS[table], subject=subject)
