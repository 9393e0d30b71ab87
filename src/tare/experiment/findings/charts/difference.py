"""What a verdict came from: the interval at each interim analysis, and the ratios of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.judgement import Difference, differences
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.forest import ratio_axis
from tare.render.drawing import MOST_MARKS, colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message

_GUTTER, _LABELS = 78, 52
#: Comparisons that one chart holds; the table has all.
_MOST = 6
#: Intervals wider than so many last intervals are cut off at the edge of the panel.
_REACH = 4.0


def _shown(results: Results) -> tuple[Difference, ...]:
    if results.experiment.stopping.compare is None:
        return ()
    found = differences(results)
    return () if isinstance(found, Message) else found[:_MOST]


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw two panels a comparison: its intervals with the margin, and the ratio of every pair."""
    import altair as alt

    found = _shown(results)
    if not found:
        return None
    gate = results.experiment.stopping.gate
    most = MOST_MARKS // len(found)
    rows = [panel for d in found for panel in _panels(d, gate, most)]
    chart = alt.vconcat(*rows, spacing=14)
    return styled(chart, gutter=_GUTTER, most=620)


def _panels(d: Difference, gate: float | None, most: int) -> list[Any]:
    n = len(d.first_values)
    return [
        *([_intervals(d, gate, n)] if any(k.low is not None for k in d.looks) else []),
        _pairs(d, n, most),
    ]


def _intervals(d: Difference, gate: float | None, n: int) -> Any:
    """Draw the interval at every interim analysis, and the band of the margin."""
    import altair as alt

    known = [k for k in d.looks if k.low is not None and k.high is not None]
    last = known[-1]
    reach = max(
        _REACH * math.log((last.high or 1) / (last.low or 1)) / 2, 1.3 * math.log1p(d.margin)
    )
    middle = d.comparison.ratio
    least, largest = middle * math.exp(-reach), middle * math.exp(reach)
    records = [
        {
            "n": k.n,
            "low": round(max(k.low or 0, least), 6),
            "high": round(min(k.high or 0, largest), 6),
            "told": f"{k.n} pairs",
        }
        for k in known
    ]
    ends = [v for r in records for v in (r["low"], r["high"])]
    y = _axis([v for v in ends if isinstance(v, float)], d.margin if gate is None else gate)
    x = _across(n, labels=False)
    base = alt.Chart(data(records))
    band = base.mark_area(opacity=0.22, color=colour("s0")).encode(
        x=x, y=alt.Y("low:Q", **y), y2="high:Q"
    )
    bars = base.mark_rule(strokeWidth=1.6, color=colour("s0")).encode(
        x=x,
        y=alt.Y("low:Q", **y),
        y2="high:Q",
        tooltip=[alt.Tooltip("told:N", title="after")],
    )
    layers = [*_references(d.margin, gate, y), band, bars]
    return alt.layer(*layers).properties(
        width=panel_width(1, _GUTTER),
        height=150,
        title=f"{d.second} vs. {d.first}: the interval at each interim analysis",
    )


def _pairs(d: Difference, n: int, most: int) -> Any:
    """Draw the ratio of every pair in order of time, and the estimate as a line."""
    import altair as alt

    ratios = d.second_values / d.first_values
    low, high = (float(v) for v in np.quantile(ratios, [0.01, 0.99]))
    step = max(1, math.ceil(n / most))
    records = [
        {"n": i + 1, "ratio": round(min(max(float(ratios[i]), low), high), 6)}
        for i in range(0, n, step)
    ]
    y = _axis([low, high], d.margin)
    x = _across(n, labels=True)
    once = [{"inner": 1 / (1 + d.margin), "outer": 1 + d.margin, "one": 1}]
    dots = alt.Chart(data(records)).mark_point(
        size=16, filled=True, opacity=0.55, color=colour("s0")
    ).encode(x=x, y=alt.Y("ratio:Q", **y))  # fmt: skip
    middle = alt.Chart(data([{"ratio": d.comparison.ratio}])).mark_rule(
        strokeWidth=1.4, strokeDash=[5, 3], color=colour("mark")
    ).encode(y=alt.Y("ratio:Q", **y))  # fmt: skip
    none = alt.Chart(data(once)).mark_rule(color=colour("soft")).encode(y=alt.Y("one:Q", **y))
    return alt.layer(none, dots, middle).properties(
        width=panel_width(1, _GUTTER), height=130, title="The ratio of every pair, in order of time"
    )


def _references(margin: float, gate: float | None, y: dict[str, Any]) -> list[Any]:
    """Draw the band that counts as the same, the line of no change, and the gate."""
    import altair as alt

    once = alt.Chart(data([{"inner": 1 / (1 + margin), "outer": 1 + margin, "one": 1}]))
    drawn = [
        once.mark_rect(color=colour("band"), opacity=0.9).encode(
            y=alt.Y("inner:Q", **y), y2="outer:Q"
        ),
        once.mark_rule(color=colour("soft")).encode(y=alt.Y("one:Q", **y)),
    ]
    if gate is not None:
        line = alt.Chart(data([{"gate": 1 + gate}]))
        drawn.append(
            line.mark_rule(strokeWidth=1.4, strokeDash=[5, 3], color=colour("mark")).encode(
                y=alt.Y("gate:Q", **y)
            )
        )
    return drawn


def _axis(ends: Sequence[float], margin: float) -> dict[str, Any]:
    return {**ratio_axis(ends, margin, extent=_LABELS), "title": None}


def _across(n: int, *, labels: bool) -> Any:
    import altair as alt

    return alt.X(
        "n:Q",
        title="pairs" if labels else None,
        scale=alt.Scale(domain=[0, n + 1], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, labels=labels),
    )


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    gate = results.experiment.stopping.gate
    return (
        message("chart.difference.intervals", margin=Chosen(results.experiment.margin)),
        *(() if gate is None else (message("chart.difference.gate", gate=Chosen(gate)),)),
        message("chart.difference.pairs"),
    )


UNIT = ChartUnit(
    description=Description(
        name="difference",
        title="The interval at each interim analysis, and the ratio of every pair",
        question="Is it different?",
        source="Jennison and Turnbull 1989",
    ),
    draw=draw,
    alternative=alternative,
)
