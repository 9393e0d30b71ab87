"""Every figure relative to its prediction: how far the machine is from its specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled

#: A figure is near its prediction where it is at most that many times as large or as small.
NEAR = 1.25

_ROW = 19
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Beside:
    """One figure as a multiple of its prediction."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    measured: str
    predicted: str


def beside(rows: Sequence[Beside]) -> Any:
    """Draw the ratio of each figure to its prediction, on a logarithmic axis.

    Parameters
    ----------
    rows : sequence of Beside
        In the order in which they are to stand.

    Returns
    -------
    altair chart
        The band is a quarter; what lies in it is filled, what lies beyond has its shape by the
        side.
    """
    import altair as alt

    names = [row.name for row in rows]
    label = label_width(names)
    gutter = label + 20
    ends = [v for row in rows for v in (row.ratio, row.low, row.high) if v]
    domain = [min(0.5, min(ends) / 1.15), max(2.0, max(ends) * 1.15)]
    x: dict[str, Any] = {
        "title": "measured ÷ predicted",
        "scale": alt.Scale(type="log", domain=domain, nice=False),
        "axis": alt.Axis(
            values=[s for s in _STEPS if domain[0] <= s <= domain[1]], format="~g",
            labelFlush=True, labelOverlap="greedy",
        ),
    }  # fmt: skip
    records = [
        {"name": r.name, "x": float(f"{r.ratio:.5g}"), "low": r.low, "high": r.high,
         "measured": r.measured, "predicted": r.predicted,
         "side": "near" if 1 / NEAR <= r.ratio <= NEAR else "above" if r.ratio > 1 else "below"}
        for r in rows
    ]  # fmt: skip
    band = alt.Chart(data([{"low": 1 / NEAR, "high": NEAR}])).mark_rect(
        color=colour("band"), opacity=0.9
    ).encode(x=alt.X("low:Q", **x), x2="high:Q")  # fmt: skip
    one = alt.Chart(data([{"x": 1}])).mark_rule(color=colour("quiet")).encode(x=alt.X("x:Q", **x))
    base = alt.Chart(data(records)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=label_axis(label)),
        tooltip=[alt.Tooltip(f"{key}:N") for key in ("name", "measured", "predicted")],
    )
    interval = base.transform_filter("isValid(datum.low)").mark_rule(
        strokeWidth=2.4, color=colour("s0"), opacity=0.8
    ).encode(x=alt.X("low:Q", **x), x2="high:Q")  # fmt: skip
    sides = ["near", "above", "below"]
    shape = alt.Shape(
        "side:N", legend=None,
        scale=alt.Scale(domain=sides, range=["circle", "triangle-right", "triangle-left"]),
    )  # fmt: skip
    tint = alt.Color(
        "side:N", legend=None,
        scale=alt.Scale(domain=sides, range=[colour("s0"), colour("mark"), colour("mark")]),
    )  # fmt: skip
    points = base.mark_point(filled=True, size=52, opacity=1).encode(
        x=alt.X("x:Q", **x), shape=shape, color=tint
    )
    chart = alt.layer(band, one, interval, points).properties(
        width=panel_width(1, gutter), height=_ROW * len(rows)
    )
    return styled(chart, gutter=gutter, label=label)
