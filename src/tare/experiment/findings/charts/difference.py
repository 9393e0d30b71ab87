"""What a verdict came from: the ratio of every pair, with their interval and the margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.difference import UNIT as FINDING
from tare.experiment.findings.judgement import Difference, differences
from tare.experiment.results import Results
from tare.render.charts.forest import has_factors, ratio_axis
from tare.render.drawing import (
    MOST_MARKS,
    Chart,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message
from tare.statistics.statistic import FloatArray

_GUTTER, _LABELS = 78, 52
#: Comparisons that one chart holds; the table has all.
_MOST = 6


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a comparison."""
    if results.experiment.stopping.compare is None:
        return None
    found = differences(results)
    if isinstance(found, Message):
        return None
    shown = found[:_MOST]
    gate = results.experiment.stopping.gate
    # All panels have labels of one kind.
    factors = any(has_factors(_ends(d), _margin(d, gate)) for d in shown)
    panels = [_panel(d, gate, MOST_MARKS // len(shown), factors) for d in shown]
    return styled({"vconcat": panels, "spacing": 14}, gutter=_GUTTER, most=620)


def _margin(d: Difference, gate: float | None) -> float:
    return d.margin if gate is None else gate


def _inner(d: Difference) -> tuple[float, float]:
    """Return the ratios of pairs between which none is an outlier."""
    least, largest = np.quantile(_ratios(d), [0.01, 0.99])
    return float(least), float(largest)


def _ratios(d: Difference) -> FloatArray:
    """Return the ratio of each pair, killed runs taken at their limit; 1 where both were killed."""
    first, second = (
        np.where(np.isposinf(values), above, values)
        for values, above in zip((d.first_values, d.second_values), d.above, strict=True)
    )
    both = np.isposinf(d.first_values) & np.isposinf(d.second_values)
    return np.where(both, 1.0, second / first)


def _bounds(d: Difference) -> tuple[float | None, float | None]:
    """Return the interval as drawn: an open bound is at the edge, where outliers are."""
    least, largest = _inner(d)
    low, high = d.comparison.low, d.comparison.high
    return (
        least if low == 0 else low,
        largest if high == math.inf else high,
    )


def _ends(d: Difference) -> list[float | None]:
    return [*_inner(d), *_bounds(d)]


def _panel(d: Difference, gate: float | None, most: int, factors: bool) -> Chart:
    """Draw the ratios in order of time; behind them the margin, the interval and the gate."""
    c, n = d.comparison, len(d.first_values)
    ratios, (low, high) = _ratios(d), _bounds(d)
    least, largest = _inner(d)
    records = [
        {"n": i + 1, "ratio": round(min(max(float(ratios[i]), least), largest), 6)}
        for i in range(0, n, max(1, math.ceil(n / most)))
    ]
    axis = ratio_axis(_ends(d), _margin(d, gate), extent=_LABELS, factors=factors)
    y: dict[str, Any] = {**axis, "title": None}
    place = {
        "inner": 1 / (1 + d.margin), "outer": 1 + d.margin, "one": 1,
        "ratio": None if math.isnan(c.ratio) else c.ratio, "low": low, "high": high,
        "gate": None if gate is None else 1 + gate,
    }  # fmt: skip
    margin = {"y": field("inner:Q", **y), "y2": field("outer")}
    interval = {"y": field("low:Q", **y), "y2": field("high")}
    one, at, limit = ({"y": field(f"{key}:Q", **y)} for key in ("one", "ratio", "gate"))
    scale = {"domain": [0, n + 1], "nice": False}
    x = field("n:Q", title="pairs", scale=scale, axis={"tickCount": 5, "grid": False})
    return layer(
        mark("rect", margin, color=colour("band"), opacity=0.9),
        mark("rule", one, color=colour("soft")),
        mark("rect", interval, where="isValid(datum.low)", color=colour("s0"), opacity=0.22),
        mark("rule", limit, where="isValid(datum.gate)", strokeWidth=1.4, strokeDash=[5, 3],
             color=colour("mark")),
        mark("point", {"x": x, **at}, records, size=16, filled=True, opacity=0.55,
             color=colour("s0")),
        mark("rule", at, where="isValid(datum.ratio)", strokeWidth=1.4, color=colour("mark")),
        rows=[place],
        width=panel_width(1, _GUTTER),
        height=150,
        title=f"{d.second} vs. {d.first}",
    )  # fmt: skip


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    gate = results.experiment.stopping.gate
    return (
        message(
            "dots are the ratios of pairs, outliers at the edge; the line is the estimate, "
            "in its interval"
        ),
        message(
            "within the band of {margin}, both are equivalent",
            margin=Chosen(results.experiment.margin),
        ),
        *(
            ()
            if gate is None
            else (message("the dashed line is the gate at {gate}", gate=Chosen(gate)),)
        ),
    )


UNIT = chart_of(
    FINDING.description,
    "The ratio of every pair, in order of time",
    draw,
    alternative,
    source="Hodges and Lehmann 1963",
    takes_killed=True,
)
