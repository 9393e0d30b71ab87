"""Lines over an axis: latency by size, bandwidth by message, a course of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.render.charts.axes import across, upwards
from tare.render.drawing import (
    GAP,
    MOST_MARKS,
    Chart,
    by_series,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.message import Amount, Message, message
from tare.units import quantity, scale_for

_GUTTER = 64
#: Pixels by which the last label of an axis may overhang the last panel.
_OVERHANG = 24
_HEIGHT = 280
_SMALL_HEIGHT = 180
#: Factor between two rules below which their labels are in separate rows; pixels of a row.
_NEAR, _WORD = 20, 13
#: Different places on the axis up to which a panel has the small height.
_FEW = 4
#: Points of a line up to which each has a mark.
_MOST_POINTS = 80
#: Lines that the description has one by one.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Axis:
    """An axis: what it is called, and the unit of its numbers as stored."""

    title: str
    unit: str
    #: Whether equal steps are equal distances, however much the numbers span; values from 0.
    even: bool = False


@dataclass(frozen=True)
class Line:
    """One line: places, values, and the values' intervals where there are any."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


@dataclass(frozen=True)
class Rule:
    """A place on the axis that has a name, and a place that others give it."""

    at: float
    label: str
    #: Where it should be, by what is said of it.
    said: float | None = None


def lines(
    panels: Sequence[tuple[str, Sequence[Line]]],
    x: Axis,
    y: Axis,
    rules: Sequence[Rule] = (),
    *,
    marks: bool = True,
    apart: bool = False,
) -> Chart:
    """Draw lines with their intervals, each with its colour and shape.

    Parameters
    ----------
    panels : sequence of (str, sequence of Line)
        Title and lines of each; several share both axes and stand side by side.
    x, y : Axis
        Logarithmic where the numbers span much.
    rules : sequence of Rule
        Places to mark, with their names above.
    marks : bool
        Whether lines of few points have a mark at each.
    apart : bool
        Whether panels stand below each other, each with an axis of values of its own.

    Returns
    -------
    Chart
    """
    every = [line for _, some in panels for line in some]
    names = list(dict.fromkeys(line.name for line in every))
    x_scale, x_unit = (1.0, "") if x.unit == "bytes" else scale_for(_all(every, "x"), x.unit)
    y_scale, y_unit = scale_for(_all(every, "y"), y.unit)
    columns = 1 if len(panels) == 1 or apart else 2
    gutter = columns * _GUTTER + (_OVERHANG if columns > 1 else 0)
    width = panel_width(columns, gutter)
    along = across(x.title, x_unit, [v / x_scale for v in _all(every, "x")], x.unit, even=x.even)
    series = by_series(names, "s")
    few = len(set(_all(every, "x"))) <= _FEW
    height = _HEIGHT if columns == 1 and not few else _SMALL_HEIGHT
    drawn = []
    for title, some in panels:
        shared = some if apart else every
        values = [v / y_scale for v in _all(shared, "y")]
        up = upwards(y.title, y_unit, values, _ends(shared, y_scale), even=y.even)
        spread = _Axes(along, up, series)
        records = [r for line in some for r in _records(line, x_scale, y_scale, x.unit, y.unit)]
        panel = _panel(records, spread, rules, len(every) if marks else 0)
        drawn.append({**panel, "width": width, "height": height, "title": title})
    chart = drawn[0]
    if len(drawn) > 1 and apart:
        chart = {"vconcat": drawn, "spacing": GAP}
    elif columns > 1:
        spacing = {"row": 44, "column": GAP + 8}
        chart = {"concat": drawn, "columns": columns, "spacing": spacing}
    return styled(chart, columns=columns, gutter=gutter, stack=True)


@dataclass(frozen=True)
class _Axes:
    x: dict[str, Any]
    y: dict[str, Any]
    series: tuple[dict[str, Any], dict[str, Any]]


def place(value: float, unit: str) -> str:
    """Write a place on an axis: "4 KiB", "16,384"."""
    if unit == "1":
        return f"{value:,.6g}"
    number, _, name = quantity(value, unit).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {name}"


def described(some: Sequence[Line], x: Axis, y: Axis) -> Message:
    """Say in words what a panel shows: where each line begins and ends, and its extreme."""
    return message(
        "upwards {y}, across {x}. {lines | join('; ')}{% if more %}; and "
        "{more | counted('more line')}{% endif %}",
        y=y.title,
        x=x.title,
        lines=[
            _described(line, None if len(some) == 1 else line.name, x.unit, y.unit)
            for line in some[:_MOST_NAMED]
        ],
        more=max(0, len(some) - _MOST_NAMED),
    )


def _described(line: Line, name: str | None, x_unit: str, y_unit: str) -> Message:
    """Say where a line begins and ends, and its extreme where that is neither."""
    first, last = 0, len(line.x) - 1
    most = max(range(len(line.y)), key=line.y.__getitem__)
    beyond = most not in (first, last) and line.y[most] > 1.05 * max(line.y[first], line.y[last])
    return message(
        "{% if name %}{name}: {% endif %}{first}{% if last %} to {last}{% endif %}"
        "{% if most %}, at most {most}{% endif %}",
        name=name,
        first=_point(line, first, x_unit, y_unit),
        last=_point(line, last, x_unit, y_unit) if last else None,
        most=_point(line, most, x_unit, y_unit) if beyond else None,
    )


def _point(line: Line, i: int, x_unit: str, y_unit: str) -> Message:
    return message("{value} at {at}", value=Amount(line.y[i], y_unit), at=place(line.x[i], x_unit))


def _all(every: Sequence[Line], axis: str) -> list[float]:
    return [float(v) for line in every for v in getattr(line, axis)]


def _panel(records: list[dict[str, Any]], axes: _Axes, rules: Sequence[Rule], many: int) -> Chart:
    y, (colours, shapes) = field("y:Q", **axes.y), axes.series
    interval = {"y": field("low:Q", **axes.y), "y2": field("high")}
    layers = [
        mark("area", interval, where="isValid(datum.low)", opacity=0.16, clip=True),
        mark("line", {"y": y}, strokeWidth=1.8),
    ]
    if len(records) <= _MOST_POINTS * many:
        tip = [field(f"{key}:N", title=key) for key in ("series", "at", "value")]
        layers.append(mark("point", {"y": y, "shape": shapes, "tooltip": tip}, filled=True,
                           size=26, opacity=1, stroke=colour("page"), strokeWidth=0.6))  # fmt: skip
    channels = {"x": field("x:Q", **axes.x), "color": colours}
    return layer(*_ruled(rules, axes.x), layer(*layers, rows=records, channels=channels))


def _ruled(rules: Sequence[Rule], x: dict[str, Any]) -> list[Chart]:
    if not rules:
        return []
    records: list[dict[str, Any]] = []
    for rule in sorted(rules, key=lambda r: r.at):
        before = records[-1] if records else None
        # Names of neighbours would cover each other in one row.
        near = before is not None and rule.at < _NEAR * before["x"]
        row = 1 - before["row"] if before is not None and near else 0
        records.append({"x": rule.at, "label": rule.label, "said": rule.said, "row": row})
    words = [
        mark("text", {"text": field("label:N"), "y": {"value": 9 + 2 * _WORD * row}},
             where=f"datum.row == {row}", align="right", dx=-4, fontSize=11, color=colour("mark"),
             lineBreak="\n", lineHeight=_WORD)
        for row in (0, 1)
    ]  # fmt: skip
    dashes = mark("rule", {}, strokeDash=[4, 3], color=colour("mark"), opacity=0.9)
    said = {
        "x": field("said:Q", **x), "y": {"value": "height"}, "tooltip": [field("label:N")]
    }  # fmt: skip
    return [
        layer(dashes, *words, rows=records, channels={"x": field("x:Q", **x)}),
        mark("point", said, [r for r in records if r["said"] is not None], shape="triangle-up",
             filled=True, size=60, color=colour("quiet"), opacity=1),
    ]  # fmt: skip


def _records(
    line: Line, x_scale: float, y_scale: float, x_unit: str, y_unit: str
) -> list[dict[str, Any]]:
    order = sorted(range(len(line.x)), key=lambda i: line.x[i])
    step = max(1, len(order) // MOST_MARKS)
    records = []
    for i in order[::step]:
        record = {
            "s": line.name,
            "x": float(f"{line.x[i] / x_scale:.6g}"),
            "y": float(f"{line.y[i] / y_scale:.5g}"),
            "at": place(line.x[i], x_unit),
            "value": quantity(line.y[i], y_unit),
            "series": line.name,
        }
        # Where there is no interval among others, the band closes.
        low, high = (_end(ends, i, line) for ends in (line.low, line.high))
        if low is not None and high is not None:
            record["low"] = float(f"{low / y_scale:.5g}")
            record["high"] = float(f"{high / y_scale:.5g}")
        records.append(record)
    return records


def _end(ends: Sequence[float | None], i: int, line: Line) -> float | None:
    if not any(end is not None for end in ends):
        return None
    end = ends[i]
    return line.y[i] if end is None else end


def _ends(every: Sequence[Line], scale: float) -> list[float]:
    return [v / scale for line in every for v in (*line.low, *line.high) if v is not None]
