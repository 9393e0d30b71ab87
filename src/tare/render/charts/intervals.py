"""Many estimates with their intervals, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.render.charts.panels import number
from tare.render.drawing import (
    Chart,
    axis,
    category,
    colour,
    distinct,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    quoted,
    styled,
)

_ROW_HEIGHT = 19
#: Shape and colour of each state, most severe last; shapes serve readers who see no colours.
_MARKS = (("circle", "s0"), ("diamond", "s1"), ("cross", "s6"), ("square", "s7"))


def interval_rows(
    names: Sequence[str],
    estimates: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    ranges: Sequence[tuple[float, float] | None] = (),
    states: Sequence[str] = (),
    unit: str = "",
    *,
    order: Sequence[str] = (),
    logarithmic: bool = False,
) -> Chart:
    """Draw estimates (marks), their intervals (pale bars) and the values' ranges (thin lines).

    Parameters
    ----------
    names : sequence of str
        Of the rows.
    estimates, lows, highs : sequence of float
        None where there is no interval.
    ranges : sequence of (float, float), optional
        Such as p10 and p90 of the values.
    states : sequence of str, optional
        A word for each row; each word has its mark and colour.
    unit : str
        For the axis.
    order : sequence of str, optional
        Words in the order in which marks are given out.
    logarithmic : bool
        Scale of the values; all must be positive.

    Returns
    -------
    Chart
    """
    rows = _records(names, estimates, lows, highs, ranges, states)
    table = distinct(names)
    short = [table[name] for name in names]
    words = [w for w in order if w in states] or list(dict.fromkeys(states))
    label = label_width(short)
    gutter = label + 20
    scale = {"type": "log", "nice": False} if logarithmic else {"zero": False, "nice": True}
    x = axis(
        unit or None, scale, tickCount=6, labelFlush=True, labelOverlap="greedy", labelSeparation=8
    )
    at = {"x": field("at:Q", **x), **_states(words, order or words)}
    chart = layer(
        mark("rule", {"x": field("low:Q", **x), "x2": field("high")}, where="isValid(datum.low)",
             strokeWidth=6, opacity=0.4, color=colour("s0")),
        # Over the interval, which is the wider one where there are few values.
        mark("rule", {"x": field("from:Q", **x), "x2": field("to")}, where="isValid(datum.from)",
             strokeWidth=1.2, color=colour("quiet")),
        mark("point", at, filled=True, size=58, opacity=1, stroke=colour("page"), strokeWidth=1),
        rows=rows,
        channels={
            "y": field("row:O", sort=None, title=None, axis=_named(label, short)),
            "tooltip": [field(f"{key}:N", title=key) for key in ("series", "told", "state")],
        },
        width=panel_width(1, gutter),
        height=len(rows) * _ROW_HEIGHT,
    )  # fmt: skip
    return styled(chart, gutter=gutter, label=label)


def _named(label: int, names: Sequence[str]) -> dict[str, Any]:
    """Axis of rows by number that shows names, since two rows may be called the same."""
    table = ", ".join(map(quoted, names))
    return label_axis(label, labelExpr=f"[{table}][datum.value]")


def _states(words: Sequence[str], order: Sequence[str]) -> dict[str, Any]:
    if not words:
        return {"color": {"value": colour("s0")}}
    at = [_MARKS[min(order.index(w), len(_MARKS) - 1)] for w in words]
    shapes, colours = [m[0] for m in at], [colour(m[1]) for m in at]
    return {
        name: category("state", words, values, legend={"title": None})
        for name, values in (("shape", shapes), ("color", colours))
    }


def _records(
    names: Sequence[str],
    estimates: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    ranges: Sequence[tuple[float, float] | None],
    states: Sequence[str],
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        span = ranges[i] if ranges else None
        low, high = number(lows[i]), number(highs[i])
        told = "no interval" if low is None else f"[{low:g}, {high:g}]"
        rows.append(
            {
                "row": i,
                "series": name,
                "at": number(estimates[i]),
                "low": low,
                "high": high,
                "from": number(span[0]) if span else None,
                "to": number(span[1]) if span else None,
                "told": f"{number(estimates[i]):g} {told}",
                "state": states[i] if states else "",
            }
        )
    return rows
