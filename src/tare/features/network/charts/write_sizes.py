"""Bandwidth, round trips and what was sent again, by size of writes (CLOUDNET, Figure 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tare.features.network.charts.series import Group, rate_unit
from tare.features.network.measure.summary import Summary
from tare.render.charts.axes import across
from tare.render.drawing import GAP, SERIES, SHAPES, data, panel_width, styled
from tare.results.message import Amount, Chosen, Message, message
from tare.units import chosen

TITLE = "By size of writes"
_GUTTER, _HEIGHT = 64, 170


def sizes(some: Sequence[Group]) -> list[int]:
    """Return the sizes of writes that were measured, in order."""
    return sorted({one.summary.write_bytes for one in some})


def draw(some: Sequence[Group]) -> Any:
    """Draw three curves over the size of writes; None where there is one size."""
    import altair as alt

    if len(sizes(some)) < 2:
        return None
    size, unit = rate_unit([one.summary.bandwidth_bps["p50"] for one in some])
    panels: list[tuple[str, Callable[[Summary], float | None]]] = [
        (f"bandwidth, median [{unit}]", lambda s: s.bandwidth_bps["p50"] / size),
        ("round trip under load, p99 [ms]", lambda s: None if s.loaded is None
         else s.loaded.p99_ns / 1e6),
        ("retransmitted [%]", lambda s: None if s.retransmit_share is None
         else 100 * s.retransmit_share),
    ]  # fmt: skip
    names = list(dict.fromkeys(_of(one) for one in some))
    drawn = []
    for title, value in panels:
        records = [
            {"s": _of(one), "x": one.summary.write_bytes, "y": float(f"{y:.5g}"),
             "at": chosen(one.summary.write_bytes, "bytes")}
            for one in some if (y := value(one.summary)) is not None
        ]  # fmt: skip
        if records:
            panel = _panel(records, names, title, sizes(some))
            drawn.append(panel.properties(width=panel_width(1, _GUTTER), height=_HEIGHT))
    return styled(alt.vconcat(*drawn, spacing=GAP), gutter=_GUTTER)


def caption(some: Sequence[Group]) -> tuple[Message, ...]:
    """Say the same."""
    ordered = sorted((one.summary for one in some), key=lambda one: one.bandwidth_bps["p50"])
    slowest, fastest = ordered[0], ordered[-1]
    said = message(
        "net.chart.write_sizes",
        fastest=Chosen(fastest.write_bytes, "bytes"),
        high=Amount(fastest.bandwidth_bps["p50"], "bits/s"),
        slowest=Chosen(slowest.write_bytes, "bytes"),
        low=Amount(slowest.bandwidth_bps["p50"], "bits/s"),
    )
    return (said,)


def _of(one: Group) -> str:
    return " · ".join(part for part in (one.series, one.summary.pattern) if part)


def _panel(records: list[dict[str, Any]], names: list[str], title: str, every: list[int]) -> Any:
    import altair as alt

    x = alt.X("x:Q", **across("size of writes", "", every, "bytes"))
    most = max(float(r["y"]) for r in records)
    y = alt.Y(
        "y:Q", title=title, scale=alt.Scale(domain=[0, 1.08 * most or 1.0], nice=True),
        axis=alt.Axis(tickCount=4, minExtent=46, maxExtent=46, format=",~r"),
    )  # fmt: skip
    some = len(names) > 1
    colours = alt.Color(
        "s:N", sort=names, legend=alt.Legend(title=None, columns=3) if some else None,
        scale=alt.Scale(domain=names, range=[SERIES[i % 8] for i in range(len(names))]),
    )  # fmt: skip
    shapes = alt.Shape(
        "s:N", sort=names, legend=alt.Legend(title=None, columns=3) if some else None,
        scale=alt.Scale(domain=names, range=[SHAPES[i % 8] for i in range(len(names))]),
    )  # fmt: skip
    base = alt.Chart(data(records)).encode(x=x, y=y, color=colours)
    tips = [alt.Tooltip("at:N", title="writes of"), alt.Tooltip("y:Q", title=title)]
    points = base.mark_point(filled=True, size=30, opacity=1).encode(shape=shapes, tooltip=tips)
    return alt.layer(base.mark_line(strokeWidth=1.8), points)
