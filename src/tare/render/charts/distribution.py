"""How values are distributed, with each quantile's interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.render.charts.panels import Named, arrange, by_name, number
from tare.render.drawing import IN_LINE, Chart, axis, colour, field, layer, mark
from tare.render.words import text
from tare.statistics.intervals import Interval, quantile_interval
from tare.statistics.statistic import FloatArray
from tare.units import quantile_name

_MOST_BINS = 60
#: Values below which bars would have one value each.
FEWEST = 10
#: Height of the row of each quantile above the bars, as a share of the highest bar.
_ROW = 0.15
#: Pixels for the quantiles' names.
_BESIDE = 36


def distribution(
    series: Named,
    quantiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99),
    confidence: float = 0.95,
    unit: str = "",
) -> Chart:
    """Draw a histogram, and above it each quantile with its order-statistic interval.

    Of fewer than :data:`FEWEST` values each is a dot.

    Parameters
    ----------
    series : array, shape (n,), or mapping of str to such
        Finite values; several are drawn in panels.
    quantiles : sequence of float
        Between 0 and 1; one whose interval n is too small for is a ring without a line.
    confidence : float
        Of the intervals.
    unit : str
        For the axis.

    Returns
    -------
    Chart
    """
    return arrange(
        [
            (name, _panel(values, quantiles, confidence, unit))
            for name, values in by_name(series).items()
        ],
        beside=_BESIDE,
    )


def _panel(values: FloatArray, quantiles: Sequence[float], confidence: float, unit: str) -> Chart:
    found = [(q, quantile_interval(values, q, confidence)) for q in quantiles]
    dots = len(values) < FEWEST
    edges = bins(values)
    counts = np.ones(1, int) if dots else np.histogram(values, edges)[0]
    top = float(counts.max()) * (1 + _ROW * (len(found) + 0.5))
    x = axis(unit or None, {"zero": False, "nice": False}, tickCount=5, labelFlush=True, grid=False)
    upwards = axis(None, {"domain": [0, top]}, tickCount=3, values=_ticks(counts), **IN_LINE)
    y = field("count:Q", **upwards)
    if dots:
        y |= {"axis": y["axis"] | {"labels": False, "grid": False}}
        records = [{"at": number(float(v)), "row": 0.5} for v in values]
        dot = {"x": field("at:Q", **x), "y": y | {"field": "row"}, "tooltip": [field("at:Q")]}
        return layer(
            mark("point", dot, records, filled=True, size=50, opacity=0.7, color=colour("s0")),
            _quantiles(found, 1.0, x),
        )
    bar = {"x": field("from:Q", **x), "x2": field("to"), "y": y, "y2": {"datum": 0},
           "tooltip": [field("from:Q"), field("to:Q"), field("count:Q")]}  # fmt: skip
    return layer(
        mark("rect", bar, _bars(edges, counts), color=colour("s0"), opacity=0.55),
        _quantiles(found, float(counts.max()), x),
    )


def bins(values: FloatArray) -> FloatArray:
    """Edges of bins by Freedman and Diaconis' rule, at most 60 of them."""
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        room = abs(low) * 0.01 or 1.0
        return np.array([low - room, low + room])
    q1, q3 = np.quantile(values, [0.25, 0.75])
    width = 2 * float(q3 - q1) / len(values) ** (1 / 3)
    many = _MOST_BINS if width <= 0 else int(np.clip((high - low) / width, 8, _MOST_BINS))
    return np.linspace(low, high, many + 1)


def _ticks(counts: np.ndarray) -> list[float]:
    most = int(counts.max())
    return [0, most // 2, most] if most > 3 else [0, most]


def _bars(edges: FloatArray, counts: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"from": number(a), "to": number(b), "count": int(c)}
        for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)
        if c
    ]


def _quantiles(
    found: Sequence[tuple[float, Interval]],
    most: float,
    x: dict[str, Any],
) -> Chart:
    records = [
        {
            "name": quantile_name(q),
            "at": number(i.estimate),
            "low": number(i.low),
            "high": number(i.high),
            "row": most * (1 + _ROW * (len(found) - k)),
            "told": text(i.refusal)
            if i.refusal
            else f"{number(i.estimate)} [{number(i.low)}, {number(i.high)}]",
            "closed": i.low is not None,
        }
        for k, (q, i) in enumerate(found)
    ]
    tip = [field("name:N", title="quantile"), field("told:N", title="interval")]
    closed = {"test": "datum.closed", "value": colour("mark")}
    at = {"x": field("at:Q", **x), "fill": {"value": colour("page"), "condition": closed}}
    # Labels are at the right of the plot, where no line crosses them.
    name = {"x": {"value": "width"}, "text": field("name:N")}
    return layer(
        mark("rule", {"x": field("low:Q", **x), "x2": field("high")}, strokeWidth=2.4,
             color=colour("mark")),
        mark("point", at, filled=True, size=34, opacity=1, stroke=colour("mark"), strokeWidth=1.3),
        mark("text", name, align="left", dx=5, fontSize=10),
        rows=records,
        channels={"y": field("row:Q"), "tooltip": tip},
    )  # fmt: skip
