"""The picture of one sweep: rates, residuals, and what the machine did, over one axis of CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.features.calibration.charts.axes import GUTTER, Across, rounded, upwards
from tare.features.calibration.charts.key import key_of
from tare.features.calibration.charts.rates import LOOK, changes, look_of, rates
from tare.features.calibration.charts.sweep import Step, Sweep
from tare.render.drawing import Chart, colour, field, layer, mark, panel_width, styled
from tare.statistics.scaling import MATTERS
from tare.statistics.steps import gather
from tare.units import significant

_ROW_HEIGHT = 58
#: Filled and open: what lies behind the other is seen through it.
_SIGNS = (("●", "circle"), ("□", "square"))
_HEIGHT = 96
#: Largest residual on the axis, in per cent; larger ones are drawn at its end.
_MOST = 100.0


@dataclass(frozen=True)
class Course:
    """One thing that was recorded beside: its name in a word, and its value at each place."""

    name: str
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Row:
    """Content of one panel of a chart: lines with a common unit."""

    title: str
    unit: str
    courses: tuple[Course, ...]


#: What may have been recorded at each step: title of its panel, unit, value above which there is
#: something to be seen, and by name the field of a point and the factor to the unit.
_RECORDED: tuple[tuple[str, str, float, dict[str, tuple[str, float]]], ...] = (
    ("Clock", "GHz", 0.0,
     {"chain of additions": ("clock_hz", 1e-9), "cpufreq": ("frequency_hz", 1e-9)}),
    ("Periods in which the quota stopped it", "%", 0.0, {"stopped": ("throttled_share", 100)}),
    ("Time the hypervisor took", "CPUs", 0.005, {"stolen": ("steal_cpus", 1)}),
    ("Throttled for heat", "times", 0.0, {"throttled": ("thermal_throttles", 1)}),
)  # fmt: skip


def rows(sweep: Sweep) -> list[Row]:
    """Choose what there is anything to be seen of: what did not happen has no row."""
    found = []
    for title, unit, least, fields in _RECORDED:
        courses = [_course(name, sweep, *of) for name, of in fields.items()]
        seen = tuple(one for one in courses if one.values)
        if any(_most(one) > least for one in seen):
            found.append(Row(title, unit, seen))
    return found


def _course(name: str, sweep: Sweep, field: str, scale: float) -> Course:
    values = [
        (step.x, value * scale)
        for step in sweep.steps
        if step.point is not None and (value := getattr(step.point, field)) is not None
    ]
    return Course(name, tuple(values))


def _most(course: Course) -> float:
    return max((value for _, value in course.values), default=0.0)


def machine(sweep: Sweep, across: Across) -> list[Chart]:
    """Draw clock, throttling and steal of each step.

    Parameters
    ----------
    sweep : Sweep
    across : Across
        The axis of CPUs or memory; the last panel has its labels.

    Returns
    -------
    list of Chart
    """
    some = rows(sweep)
    return [_row(row, sweep, across, labels=row is some[-1]) for row in some]


def _row(row: Row, sweep: Sweep, across: Across, *, labels: bool) -> Chart:
    y = upwards(None, 0, 1.12 * max(map(_most, row.courses)), ticks=2, nice=False)
    layers = changes(sweep, across, named=False, labels=labels)
    for (_, sign), course in zip(_SIGNS, row.courses, strict=False):
        layers.append(_drawn(sweep, course, row.unit, sign, across.channel(labels=labels), y))
    return layer(*layers, height=_ROW_HEIGHT, title=_title(row))


def _title(row: Row) -> str:
    title = f"{row.title} [{row.unit}]"
    if len(row.courses) == 1:
        return title
    signs: Sequence[str] = [sign for sign, _ in _SIGNS]
    told = (f"{sign} {c.name}" for sign, c in zip(signs, row.courses, strict=False))
    return f"{title}: {'  '.join(told)}"


def _drawn(
    sweep: Sweep, course: Course, unit: str, shape: str, x: dict[str, Any], y: dict[str, Any]
) -> Chart:
    records = [
        {"x": rounded(a), "y": rounded(b), "asked": sweep.place(a),
         "value": f"{significant(b)} {unit}"}
        for a, b in course.values
    ]  # fmt: skip
    look: dict[str, Any] = {"filled": True, "size": 24, "color": colour("ink")}
    if shape == "square":
        look = {"filled": False, "size": 62, "strokeWidth": 1.3, "color": colour("s1")}
    tips = [field("asked:N"), field("value:N", title=course.name)]
    return layer(
        mark("line", {}, strokeWidth=1, color=colour("quiet"), opacity=0.6),
        mark("point", {"tooltip": tips}, shape=shape, opacity=1, **look),
        rows=records,
        channels={"x": x, "y": field("y:Q", **y)},
    )


def residuals(sweep: Sweep, across: Across, *, labels: bool) -> Chart:
    """Draw how far the means are from the one line, as shares of the means."""
    off = residual(sweep)
    limit = min(_MOST, max([160 * MATTERS, *(1.1 * abs(v) for v in off.values())]))
    y = upwards(None, -limit, limit, ticks=4, nice=False)
    x = across.channel(labels=labels)
    band = {"y": field("low:Q", **y), "y2": field("high")}
    layers = [
        *changes(sweep, across, named=False, labels=labels),
        layer(
            mark("rect", band, color=colour("band"), opacity=0.9),
            mark("rule", {"y": field("none:Q", **y)}, color=colour("soft"), strokeDash=[6, 4]),
            rows=[{"low": -100 * MATTERS, "high": 100 * MATTERS, "none": 0}],
        ),
    ]
    tips = [field("asked:N"), field("off:N", title="off the one line")]
    at = {"x": x, "y": field("y:Q", **y), "tooltip": tips, **LOOK}
    records = [_residual_record(sweep, step, value, limit) for step, value in off.items()]
    layers.append(mark("point", at, records, filled=True, size=34, opacity=1))
    title = f"Off one line, relatively [%]; band: ±{100 * MATTERS:g} %"
    return layer(*layers, height=_HEIGHT, title=title)


def residual(sweep: Sweep) -> dict[Step, float]:
    """Compute the residual of each mean from one line, in per cent of the mean.

    Empty where no verdict was found by a line: what errs least in absolute terms says nothing at
    small quotas.
    """
    if sweep.scaling.straight is None:
        return {}
    good = [step for step in sweep.steps if step.y > 0]
    # Means without outliers, as the verdict has them.
    values = [step.singles or (step.y,) for step in good]
    x = np.repeat([step.x for step in good], [len(some) for some in values])
    means = gather(x, np.concatenate(values), x).y if values else ()
    return {
        step: 100 * (1 - sweep.line.at(step.x) / float(mean))
        for step, mean in zip(good, means, strict=True)
    }


def _residual_record(sweep: Sweep, step: Step, value: float, limit: float) -> dict[str, Any]:
    """Return a mark; a triangle at the edge where the residual is beyond the axis."""
    look, edge = look_of(sweep, step), 0.94 * limit
    if abs(value) > limit:
        look["shape"] = "triangle-up" if value > 0 else "triangle-down"
    return {
        **look,
        "x": rounded(step.x),
        "y": rounded(min(max(value, -edge), edge) if abs(value) > limit else value),
        "asked": sweep.place(step.x),
        "off": f"{value:+.3g} %".replace("-", "−"),
    }


def sweep_chart(sweep: Sweep) -> Chart:
    """Draw rates, residuals and the machine over one axis of CPUs.

    Parameters
    ----------
    sweep : Sweep

    Returns
    -------
    Chart
    """
    across = Across(sweep.x_title, sweep.end)
    rows = machine(sweep, across)
    off = [residuals(sweep, across, labels=not rows)] if residual(sweep) else []
    panels = [key_of(sweep), rates(sweep, across), *off, *rows]
    width = panel_width(1, GUTTER)
    chart = {"vconcat": [panel | {"width": width} for panel in panels], "spacing": 12}
    return styled(chart, gutter=GUTTER)
