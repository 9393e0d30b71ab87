"""Response times by share of requests: how long the slowest requests of each cell take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts import phrases
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import first_of
from tare.experiment.findings.requests_seen import Histogram, seen
from tare.experiment.findings.service_cells import Driven, driven, name_of
from tare.experiment.request_quantiles import requests_needed
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.axes import upwards
from tare.render.drawing import (
    SERIES,
    Chart,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import shown
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.units import quantity, scale_for

#: Cells that are drawn, and points of a line for each power of ten.
_MOST_CELLS, _POINTS = 12, 16
#: Cells of which each has a sentence below the chart.
MOST_SENTENCES = 4
_GUTTER, _HEIGHT = 64, 300
#: Dashes of lines: the second for lines that reuse a colour.
_DASHES = ([1, 0], [5, 3])
#: Pixels of a legend's row.
_LEGEND = 330
#: Vega expression of the percentile at 1 / (1 - q) on the axis.
_PERCENTILE = (
    "datum.value <= 1 ? 'min' : datum.value == 2 ? '50 %' : "
    "format(100 - 100 / datum.value, '.7~f') + ' %'"
)


def drawn(results: Results) -> list[tuple[str, Driven, Histogram]]:
    """Return the cells that have requests, each with its name."""
    found = seen(results).histograms
    cells = [cell for cell in driven(results) if cell.cell in found]
    return [(_named(cell, results), cell, found[cell.cell]) for cell in cells]


def _named(cell: Driven, results: Results) -> str:
    name = shown(name_of(cell, results)).removeprefix("on ")
    return f"{name} (shared CPUs)" if cell.shared else name


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a line a cell, on an axis along which each step halves what is beyond it."""
    cells = drawn(results)[:_MOST_CELLS]
    if not cells:
        return None
    workloads = list(dict.fromkeys(cell.levels["workload"] for _, cell, _ in cells))
    panels = []
    for workload in workloads:
        own = [one for one in cells if one[1].levels["workload"] == workload]
        panel = _panel({name: histogram for name, _, histogram in own})
        panels.append({**panel, "width": panel_width(1, _GUTTER), "height": _HEIGHT})
    chart = panels[0]
    if len(panels) > 1:
        # Times of different applications are on axes of their own.
        apart = dict.fromkeys(("x", "y", "color", "strokeDash"), "independent")
        chart = {"vconcat": panels, "spacing": 24, "resolve": {"scale": apart}}
    return styled(chart, columns=1, gutter=_GUTTER)


def _panel(cells: Mapping[str, Histogram]) -> Chart:
    """Draw the cells of a workload."""
    lines = {name: _line(histogram) for name, histogram in cells.items()}
    every = np.concatenate([times for _, times in lines.values()])
    scale, unit = scale_for(every.tolist(), "ns")
    records = [
        {
            "cell": name,
            "x": float(f"{x:.6g}"),
            "y": float(f"{y / scale:.5g}"),
            "percentile": f"{100 - 100 / x:.7g} %",
            "time": quantity(float(y), "ns"),
        }
        for name, (places, times) in lines.items()
        for x, y in zip(places.tolist(), times.tolist(), strict=True)
    ]
    names = list(lines)
    most = max(histogram.n for histogram in cells.values())
    ticks = [1, 2, *(10**power for power in range(1, 9) if 10**power <= most)]
    dashes = [_DASHES[i // len(SERIES)] for i in range(len(names))]
    color, dash = (
        category("cell", names, values, sort=names, legend=_legend(names))
        for values in (SERIES, dashes)
    )
    channels = {
        "x": field(
            "x:Q",
            title="share of all requests of all trials",
            scale={"type": "log", "domain": [1, most], "nice": False},
            axis={"values": ticks, "labelExpr": _PERCENTILE, "labelFlush": True},
        ),
        "y": field("y:Q", **upwards("response time", unit, (every / scale).tolist(), ())),
        "color": color,
        "strokeDash": dash,
        "tooltip": [field(f"{key}:N") for key in ("cell", "percentile", "time")],
    }
    line = mark("line", channels, records, strokeWidth=1.8, interpolate="step-before")
    return layer(_marks(most), line)


def _legend(names: Sequence[str]) -> dict[str, Any] | None:
    if len(names) == 1:
        return None
    longest = max(len(name) for name in names)
    columns = max(1, min(len(names), int(_LEGEND // (6.1 * longest + 34))))
    return {"title": None, "columns": columns, "labelLimit": _LEGEND, "symbolType": "stroke"}


def _marks(most: int) -> Chart:
    """Mark the shares that the table has quantiles of."""
    places = [{"x": place} for place in (2, 20, 100) if place <= most]
    look: dict[str, Any] = {"strokeWidth": 1, "strokeDash": [2, 3], "color": colour("quiet")}
    return mark("rule", {"x": field("x:Q")}, places, **look, opacity=0.7)


def _line(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    """Return places 1 / (1 - q) and the response times there, to the slowest request."""
    powers = np.log10(histogram.n)
    places = 10 ** np.linspace(0, powers, int(np.ceil(powers * _POINTS)) + 1)
    places[-1] = histogram.n
    return places, histogram.quantiles(np.append(1 - 1 / places[:-1], 1.0))


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn, with two places of each line."""
    cells = drawn(results)
    if not cells:
        return (message(phrases.RESPONSE_TIMES_NOTHING),)
    return (
        message(
            "a line a cell: the response time that a share of its requests does not exceed; "
            "along the axis, each step to the right leaves fewer requests beyond it; dotted: "
            "50, 95 and 99 %. Requests of all trials are one sample, so a few slow trials "
            "show; the table's p50, p95 and p99 are medians of trials"
        ),
        *(
            message(
                "{at}: {% if slow %}1 in 100 requests took more than {slow}, {% endif %}the "
                "longest {longest} ({requests | counted('request')})",
                at=name,
                requests=histogram.n,
                slow=_beyond(histogram, 0.99) if histogram.n >= requests_needed("p99") else None,
                longest=_beyond(histogram, 1.0),
            )
            for name, _, histogram in cells
            if len(cells) <= MOST_SENTENCES
        ),
        *first_of(_MOST_CELLS, len(cells)),
    )


def _beyond(histogram: Histogram, share: float) -> Amount:
    return Amount(float(histogram.quantiles(np.array([share]))[0]), "ns")


UNIT = ChartUnit(
    description=Description(
        name="response_times",
        title="Response times of all requests of all trials, by share of requests",
        question="How long do the slowest requests take?",
        source="HdrHistogram's percentile plot",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
