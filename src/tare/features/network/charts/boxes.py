"""Distribution of bandwidth by pattern, as boxes (CLOUDNET, Figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.network.charts.series import Group, named, rate_unit
from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled
from tare.render.words import text
from tare.results.message import Amount, Message, message

TITLE = "Distribution of bandwidth"
_ROW, _MOST = 30, 48
#: Boxes that the caption gives the numbers of.
_MOST_SAID = 8


def draw(some: Sequence[Group]) -> Any:
    """Draw a box a pattern: percentiles 25 to 75, the median, and 1 to 99 as whiskers."""
    import altair as alt

    if not some:
        return None
    shown = some[:_MOST]
    size, unit = rate_unit([one.summary.bandwidth_bps["p99"] for one in shown])
    names = [one.name for one in shown]
    label = label_width(names)
    records = [
        {"name": one.name,
         **{key: float(f"{v / size:.5g}") for key, v in one.summary.bandwidth_bps.items()},
         "told": text(_distribution(one))}
        for one in shown
    ]  # fmt: skip
    most = 1.03 * max(1e-9, *(float(str(r["p99"])) for r in records))
    x: dict[str, Any] = {
        "title": f"payload [{unit}]",
        "scale": alt.Scale(domain=[0, most], nice=True),
        "axis": alt.Axis(tickCount=6, format=",~r"),
    }
    y = alt.Y("name:N", sort=names, title=None, axis=label_axis(label))
    base = alt.Chart(data(records)).encode(y=y, tooltip=[alt.Tooltip("told:N", title="bandwidth")])
    whisker = base.mark_rule(color=colour("soft")).encode(x=alt.X("p1:Q", **x), x2="p99:Q")
    box = base.mark_bar(size=14, color=colour("s0"), opacity=0.55).encode(
        x=alt.X("p25:Q", **x), x2="p75:Q"
    )
    middle = base.mark_tick(size=20, thickness=2.5, color=colour("mark"), opacity=1)
    ends = [
        base.mark_tick(size=8, color=colour("soft"), opacity=1).encode(x=alt.X(f"{end}:Q", **x))
        for end in ("p1", "p99")
    ]
    gutter = label + 20
    chart = alt.layer(whisker, *ends, box, middle.encode(x=alt.X("p50:Q", **x))).properties(
        width=panel_width(1, gutter), height=_ROW * len(shown) + 10
    )
    return styled(chart, gutter=gutter, label=label)


def caption(some: Sequence[Group]) -> tuple[Message, ...]:
    """Say the same."""
    said = [named(one.name, _distribution(one)) for one in some[:_MOST_SAID]]
    return message("net.chart.box"), *said


def _distribution(one: Group) -> Message:
    rates = one.summary.bandwidth_bps
    values = {key: Amount(rates[key], "bits/s") for key in ("p1", "p25", "p50", "p75", "p99")}
    return message("net.chart.distribution", **values)
