"""Errors of every figure, platform beside platform, with what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.machine.selftest.lines import Line
from tare.render.drawing import (
    SERIES,
    SHAPES,
    colour,
    data,
    label_axis,
    label_width,
    panel_width,
    styled,
)
from tare.render.words import text
from tare.results.message import message
from tare.units import off_by, scale_for

#: Pixels of a platform in a row, and of what parts rows.
_MARK, _BETWEEN = 11, 8
#: Share of the middle error below which the axis is linear; beyond it is logarithmic, so that an
#: error of a thousandth and one of ten can both be seen.
_LINEAR = 0.5


def errors(some: Sequence[Line], unit: str, platforms: Sequence[str]) -> tuple[Any, str]:
    """Draw the errors of figures that have one unit.

    Parameters
    ----------
    some : sequence of Line
        At least one; a row each for metric, source, program and degree of parallelism.
    unit : str
        As stored.
    platforms : sequence of str
        All that there are, so that each looks the same in every chart.

    Returns
    -------
    (altair chart, str)
        And the unit that it shows.
    """
    import altair as alt

    sizes = [max(abs(one.median), abs(one.promised[1] or 0.0)) for one in some]
    size, shown = scale_for(sizes, unit)
    rows = [_row(one, size) for one in some]
    names = list(dict.fromkeys(row["row"] for row in rows))
    platforms = list(platforms)
    label = label_width(names)
    gutter = label + 20
    constant = _LINEAR * sorted(sizes)[len(sizes) // 2] / size or 1.0
    x: dict[str, Any] = {
        "title": f"measured − true [{shown or 'count'}]",
        "scale": alt.Scale(type="symlog", constant=constant),
        "axis": alt.Axis(tickCount=7, labelFlush=True, labelOverlap="greedy"),
    }
    y: dict[str, Any] = {
        "y": alt.Y("row:N", sort=names, title=None, axis=label_axis(label)),
        "yOffset": alt.YOffset("platform:N", sort=platforms),
    }
    tip = [alt.Tooltip(f"{key}:N", title=key) for key in ("figure", "error", "verdict")]
    base = alt.Chart(data(rows)).encode(**y, tooltip=tip)
    band = base.transform_filter("isValid(datum.from)").mark_bar(color=colour("band"))
    thick = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.8)
    points = base.mark_point(filled=True, size=46, opacity=1)
    scales = {
        "color": alt.Color(
            "platform:N",
            sort=platforms,
            scale=alt.Scale(domain=platforms, range=_round(SERIES, len(platforms))),
            legend=alt.Legend(title=None),
        ),
        "shape": alt.Shape(
            "platform:N",
            sort=platforms,
            scale=alt.Scale(domain=platforms, range=_round(SHAPES, len(platforms))),
            legend=alt.Legend(title=None),
        ),
    }
    none = alt.Chart(data([{"none": 0}])).mark_rule(color=colour("quiet"), strokeDash=[4, 3])
    chart = alt.layer(
        band.encode(x=alt.X("from:Q", **x), x2="to:Q"),
        none.encode(x=alt.X("none:Q", **x)),
        thick.encode(x=alt.X("low:Q", **x), x2="high:Q", color=scales["color"]),
        points.encode(x=alt.X("median:Q", **x), **scales),
    ).properties(
        width=panel_width(1, gutter), height=len(names) * (_MARK * len(platforms) + _BETWEEN)
    )
    return styled(chart, gutter=gutter, label=label), shown


def _round(some: Sequence[str], n: int) -> list[str]:
    return [some[i % len(some)] for i in range(n)]


def _row(one: Line, size: float) -> dict[str, Any]:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value / size

    many = f" ×{one.workers}" if one.workers > 1 else ""
    return {
        "row": f"{one.metric} {one.source} ({one.program}){many}",
        "platform": one.platform,
        "median": one.median / size,
        "low": scaled(one.low),
        "high": scaled(one.high),
        "from": scaled(one.promised[0]),
        "to": scaled(one.promised[1]),
        "figure": text(one.named),
        "error": off_by(one.median, one.unit, one.half),
        "verdict": text(message(f"selftest.verdict.{one.verdict}")),
    }
