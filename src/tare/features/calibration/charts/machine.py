"""What the machine did during a sweep: a panel each, under the axis of CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.features.calibration.charts.axes import Across, rounded, upwards
from tare.features.calibration.charts.rates import changes
from tare.features.calibration.charts.sweep import Sweep
from tare.render.drawing import colour, data
from tare.units import significant

_HEIGHT = 58
#: Less of a CPU than this is nothing that the hypervisor took.
_LEAST_STEAL = 0.005


@dataclass(frozen=True)
class Course:
    """One thing that was recorded beside: its name in a word, and its value at each place."""

    name: str
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Row:
    """What stands in one panel, in one unit."""

    title: str
    unit: str
    courses: tuple[Course, ...]


#: Filled and open: what lies behind the other is seen through it.
_SIGNS = (("●", "circle"), ("□", "square"))


def rows(sweep: Sweep) -> list[Row]:
    """Choose what there is anything to be seen of: what did not happen has no row."""
    clocks = [
        course
        for name, field in (("chain of additions", "clock_hz"), ("cpufreq", "frequency_hz"))
        if (course := _course(name, sweep, field, 1e-9)).values
    ]
    stopped = _course("stopped", sweep, "throttled_share", 100)
    stolen = _course("stolen", sweep, "steal_cpus", 1)
    heat = _course("throttled", sweep, "thermal_throttles", 1)
    found = [
        Row("Periods in which the quota stopped it", "%", (stopped,)) if _most(stopped) else None,
        Row("Time the hypervisor took", "CPUs", (stolen,))
        if _most(stolen) >= _LEAST_STEAL
        else None,
        Row("Throttled for heat", "times", (heat,)) if _most(heat) else None,
    ]
    first = [Row("Clock", "GHz", tuple(clocks))] if clocks else []
    return [*first, *(row for row in found if row is not None)]


def _course(name: str, sweep: Sweep, field: str, scale: float) -> Course:
    values = [
        (step.x, value * scale)
        for step in sweep.steps
        if step.point is not None and (value := getattr(step.point, field)) is not None
    ]
    return Course(name, tuple(values))


def _most(course: Course) -> float:
    return max((value for _, value in course.values), default=0.0)


def machine(sweep: Sweep, across: Across) -> list[Any]:
    """Draw what happened to the machine meanwhile.

    Parameters
    ----------
    sweep : Sweep
    across : Across
        The axis of CPUs; the last panel has its labels.

    Returns
    -------
    list of altair chart
    """
    some = rows(sweep)
    return [_row(row, sweep, across, labels=row is some[-1]) for row in some]


def _row(row: Row, sweep: Sweep, across: Across, *, labels: bool) -> Any:
    import altair as alt

    y = upwards(None, 0, 1.12 * max(map(_most, row.courses)), ticks=2, nice=False)
    layers = changes(sweep, across, named=False, labels=labels)
    for (_, shape), course in zip(_SIGNS, row.courses, strict=False):
        layers += _drawn(course, row.unit, shape, across.channel("x:Q", labels=labels), y)
    return alt.layer(*layers).properties(height=_HEIGHT, title=_title(row))


def _title(row: Row) -> str:
    title = f"{row.title} [{row.unit}]"
    if len(row.courses) == 1:
        return title
    signs: Sequence[str] = [sign for sign, _ in _SIGNS]
    told = (f"{sign} {c.name}" for sign, c in zip(signs, row.courses, strict=False))
    return f"{title}: {'  '.join(told)}"


def _drawn(course: Course, unit: str, shape: str, x: Any, y: dict[str, Any]) -> list[Any]:
    import altair as alt

    records = [
        {"x": rounded(a), "y": rounded(b), "asked": f"{a:g} CPUs",
         "value": f"{significant(b)} {unit}"}
        for a, b in course.values
    ]  # fmt: skip
    base = alt.Chart(data(records)).encode(x=x, y=alt.Y("y:Q", **y))
    look: dict[str, Any] = {"filled": True, "size": 24, "color": colour("ink")}
    if shape == "square":
        look = {"filled": False, "size": 62, "strokeWidth": 1.3, "color": colour("s1")}
    tips = [alt.Tooltip("asked:N"), alt.Tooltip("value:N", title=course.name)]
    return [
        base.mark_line(strokeWidth=1, color=colour("quiet"), opacity=0.6),
        base.mark_point(shape=shape, opacity=1, **look).encode(tooltip=tips),
    ]
