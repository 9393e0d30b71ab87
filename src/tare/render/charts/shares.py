"""Shares of variance: what a difference goes with."""

from __future__ import annotations

from collections.abc import Sequence

from tare.render.charts.panels import number
from tare.render.drawing import (
    Chart,
    axis,
    colour,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)

_ROW_HEIGHT = 24


def share_bars(
    names: Sequence[str], shares: Sequence[float], rank_shares: Sequence[float | None]
) -> Chart:
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
    Chart
    """
    records = [
        {"name": n, "share": number(s), "ranks": number(r), "told": f"{100 * s:.1f} %"}
        for n, s, r in zip(names, shares, rank_shares, strict=True)
    ]
    label = label_width(names)
    x = axis(None, {"domain": [0, 1]}, format="%", tickCount=5, labelFlush=True)
    bar, tick = {"x": field("share:Q", **x)}, {"x": field("ranks:Q", **x)}
    gutter = label + 20
    chart = layer(
        mark("bar", bar, color=colour("s0"), opacity=0.75, height=12),
        mark("tick", tick, color=colour("mark"), thickness=2.4, size=18),
        rows=records,
        channels={
            "y": field("name:N", sort=list(names), title=None, axis=label_axis(label)),
            "tooltip": [
                field("name:N", title="effect"),
                field("share:Q", title="share of the variance", format=".1%"),
                field("ranks:Q", title="share of the ranks'", format=".1%"),
            ],
        },
        width=panel_width(1, gutter),
        height=len(records) * _ROW_HEIGHT,
    )
    return styled(chart, gutter=gutter, label=label)
