"""Shares of variance: what a difference goes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.render.charts.panels import number
from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled

_ROW_HEIGHT = 24


def share_bars(
    names: Sequence[str], shares: Sequence[float], rank_shares: Sequence[float | None]
) -> Any:
    """Draw the share of variance of each effect as a bar, that of the ranks as a tick.

    Parameters
    ----------
    names : sequence of str
        Effects, in the order to be drawn.
    shares : sequence of float
        Of the variance of the values, 0 to 1.
    rank_shares : sequence of float or None
        Of the variance of their ranks.

    Returns
    -------
    altair chart
    """
    import altair as alt

    records = [
        {"name": n, "share": number(s), "ranks": number(r), "told": f"{100 * s:.1f} %"}
        for n, s, r in zip(names, shares, rank_shares, strict=True)
    ]
    label = label_width(names)
    y = alt.Y("name:N", sort=list(names), title=None, axis=label_axis(label))
    x: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[0, 1]),
        "axis": alt.Axis(format="%", tickCount=5, labelFlush=True),
    }
    base = alt.Chart(data(records)).encode(
        y=y,
        tooltip=[
            alt.Tooltip("name:N", title="effect"),
            alt.Tooltip("share:Q", title="share of the variance", format=".1%"),
            alt.Tooltip("ranks:Q", title="share of the ranks'", format=".1%"),
        ],
    )
    bars = base.mark_bar(color=colour("s0"), opacity=0.75, height=12).encode(
        x=alt.X("share:Q", **x)
    )
    ticks = base.mark_tick(color=colour("mark"), thickness=2.4, size=18).encode(
        x=alt.X("ranks:Q", **x)
    )
    gutter = label + 20
    chart = alt.layer(bars, ticks).properties(
        width=panel_width(1, gutter), height=len(records) * _ROW_HEIGHT
    )
    return styled(chart, gutter=gutter, label=label)
