"""Overhead over CHR with the curve of PTO and PSO: what shrinks as a platform gets more cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.findings.platform_cells import Beside, cost_basis, over_sizes
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.axes import logarithmic, sizes_axis
from tare.render.drawing import by_series, colour, data, panel_width, styled
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.units import change_interval

_GUTTER, _HEIGHT = 70, 260
_MOST = 8
_ENDS = ("ratio", "low", "high")
#: Points of a curve.
_STEPS = 40


def _some(results: Results) -> list[Beside]:
    """Return what has several sizes, those with a curve first."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return []
    several = [b for b in over_sizes(results, basis) if len(b.found.sizes) > 1]
    return sorted(several, key=lambda b: b.found.curve is None)[:_MOST]


def _name(one: Beside) -> str:
    return text(one.name if one.reference_pinning == one.pinning else one.versus)


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw ratios with intervals, and the fitted curve where PTO and PSO are identifiable."""
    import altair as alt

    some = _some(results) if tables_of(findings, "platform_size") else []
    if not some:
        return None
    names = [_name(one) for one in some]
    tint, shape = by_series(names, "name", columns=2, labelLimit=330)
    points = [r for one, name in zip(some, names, strict=True) for r in _points(one, name)]
    curves = [r for one, name in zip(some, names, strict=True) for r in _curve(one, name)]
    x = alt.X("chr:Q", **sizes_axis([p["chr"] for p in points], "CHR: assigned cores / host cores"))
    y = logarithmic([1.0, *(p[k] for p in points for k in _ENDS)], "overhead ratio")
    base = alt.Chart(data(points)).encode(
        x=x,
        color=tint,
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("told:N", title="ratio")],
    )
    layers = [
        alt.Chart(data([{"one": 1}]))
        .mark_rule(strokeDash=[3, 3], color=colour("quiet"))
        .encode(y=alt.Y("one:Q", **y)),
        base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            y=alt.Y("ratio:Q", **y), shape=shape
        ),
    ]
    if curves:
        layers.append(
            alt.Chart(data(curves))
            .mark_line(strokeWidth=1.5, opacity=0.8)
            .encode(x=x, y=alt.Y("ratio:Q", **y), color=tint)
        )
    chart = alt.layer(*layers).properties(width=panel_width(1, _GUTTER), height=_HEIGHT)
    return styled(chart, gutter=_GUTTER)


def _points(one: Beside, name: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "chr": s.chr,
            "ratio": s.ratio.value,
            "low": s.ratio.low,
            "high": s.ratio.high,
            "told": f"{change_interval(s.ratio.value, s.ratio.low, s.ratio.high)} at "
            f"{s.cores:g} cores, n = {s.n}",
        }
        for s in one.found.sizes
    ]


def _curve(one: Beside, name: str) -> list[dict[str, Any]]:
    if one.found.curve is None:
        return []
    ends = one.found.sizes[0].chr, one.found.sizes[-1].chr
    return [
        {"name": name, "chr": float(x), "ratio": one.found.curve.ratio(float(x))}
        for x in np.geomspace(*ends, _STEPS)
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    return (message("chart.platform_chr.marks"),)


UNIT = ChartUnit(
    description=Description(
        name="platform_chr",
        title="Overhead over CHR, with PTO and PSO",
        question="What of a platform's cost is its type's, and what its size's?",
        source="PINNING",
    ),
    draw=draw,
    alternative=alternative,
)
