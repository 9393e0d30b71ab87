"""Values at every initial budget: CLOUDNET's Figures 16 and 17."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Ladder, Networks, Rung, applies, networks_of
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.axes import logarithmic
from tare.render.drawing import MOST_MARKS, colour, data, panel_width, styled
from tare.render.vocabulary import metric_name
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.units import scale_for

_GUTTER, _HEIGHT = 70, 230
#: Panels of one chart: groups of the levels of other factors.
_MOST_PANELS = 6
#: Beyond this ratio of the largest median to the least, the axis is logarithmic.
_WIDE = 4


def networks(results: Results) -> Networks | None:
    """Return the ladders, where there are any."""
    found = networks_of(results) if applies(results) else None
    return found if isinstance(found, Networks) else None


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw the values of all trials, with medians and their intervals, a column a level."""
    import altair as alt

    found = networks(results)
    if found is None or len({r.level.text for _, r in found.rungs}) < 2:
        return None
    ladders = found.ladders[:_MOST_PANELS]
    each = MOST_MARKS // max(1, sum(len(x.rungs) for x in ladders))
    panels = [_panel(ladder, found, each) for ladder in ladders]
    return styled(alt.vconcat(*panels, spacing=12), columns=1, gutter=_GUTTER)


def _panel(ladder: Ladder, found: Networks, each: int) -> Any:
    import altair as alt

    medians = [r.cell.median.estimate for r in ladder.rungs]
    scale, unit = scale_for(medians, found.basis.unit)
    names = [r.level.name for r in ladder.rungs]
    values = [float(v) / scale for r in ladder.rungs for v in r.values]
    title = f"{metric_name(found.basis.metric)} ({unit})"
    y: dict[str, Any] = {"title": title, "scale": alt.Scale(zero=False, nice=True)}
    if min(values) > 0 and max(medians) > _WIDE * min(medians):
        y = logarithmic(values, title)
    x = alt.X(
        "level:N",
        sort=names,
        title="network, by initial budget",
        axis=alt.Axis(labelAngle=0, labelLimit=110, grid=False),
    )
    dots = [
        {"level": r.level.name, "value": v / scale, "place": place, "trial": int(t)}
        for r in ladder.rungs
        for t, v, place in _thinned(r, each)
    ]
    points = (
        alt.Chart(data(dots))
        .mark_point(filled=True, size=14, opacity=0.45, color=colour("s0"))
        .encode(
            x=x,
            xOffset=alt.XOffset("place:Q", scale=alt.Scale(domain=[-1, 1])),
            y=alt.Y("value:Q", **y),
            tooltip=[alt.Tooltip("level:N"), "trial:Q", alt.Tooltip("value:Q", format=".4~g")],
        )
    )
    base = alt.Chart(data([_summary(r, scale) for r in ladder.rungs])).encode(
        x=x, tooltip=[alt.Tooltip("level:N"), alt.Tooltip("told:N", title="median")]
    )
    interval = base.mark_bar(width=26, opacity=0.25, color=colour("mark")).encode(
        y=alt.Y("low:Q", **y), y2="high:Q"
    )
    middle = base.mark_tick(width=34, thickness=2.4, color=colour("mark")).encode(
        y=alt.Y("middle:Q", **y)
    )
    return alt.layer(interval, points, middle).properties(
        width=panel_width(1, _GUTTER), height=_HEIGHT, title=ladder.where
    )


def _thinned(rung: Rung, most: int) -> list[tuple[int, float, float]]:
    """Give trial, value, and an offset from the middle that shows the order of time."""
    n = rung.n
    kept = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))
    trials = rung.trials["trial"].to_numpy()
    return [
        (int(trials[i]), float(rung.values[i]), (2 * i / max(1, n - 1) - 1) * 0.55) for i in kept
    ]


def _summary(rung: Rung, scale: float) -> dict[str, Any]:
    median = rung.cell.median
    low, high = (
        None if b is None else float(f"{b / scale:.6g}") for b in (median.low, median.high)
    )
    middle = float(f"{median.estimate / scale:.6g}")
    bounds = "no interval" if low is None else f"[{low}, {high}]"
    return {
        "level": rung.level.name,
        "middle": middle,
        "low": low,
        "high": high,
        "told": f"{middle} {bounds}, n = {rung.n}",
    }


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say the median at each level."""
    found = networks(results)
    if found is None:
        return (message("network_chart.nothing"),)
    said = [message("network_chart.values.drawn", metric=found.basis.metric)]
    for ladder in found.ladders[:_MOST_PANELS]:
        medians = [
            message(
                "network_chart.values.median",
                level=rung.level.name,
                median=Amount(rung.cell.median.estimate, found.basis.unit),
            )
            for rung in ladder.rungs
        ]
        said.append(
            message("network_chart.values.medians", where=ladder.where or None, medians=medians)
        )
    if len(found.ladders) > _MOST_PANELS:
        said.append(message("network_chart.more_groups", n=len(found.ladders) - _MOST_PANELS))
    return tuple(said)


UNIT = ChartUnit(
    description=Description(
        name="network_values",
        title="Every trial, by the budget that it began with",
        question="How much does the network slow it down?",
        source="CLOUDNET, Figures 16 and 17",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
