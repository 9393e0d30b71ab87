"""Ranges of the means and of the SDs over generated inputs: all cells in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts import phrases
from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.input_dependence import rows_by_cell
from tare.experiment.findings.charts.rows import first_of, tables_of, where
from tare.experiment.findings.input_dependence import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.course import most_points, thin
from tare.render.charts.forest import MOST_ROWS
from tare.render.charts.panels import number
from tare.render.drawing import (
    Chart,
    axis,
    colour,
    data,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.statistics.statistic import FloatArray

_ROW_HEIGHT = 20
#: Titles of the panels, by the column of the table of inputs.
_PANELS = {"mean": "means", "sd": "SDs"}


def _shares(results: Results, findings: Sequence[Finding]) -> dict[str, dict[str, FloatArray]]:
    """Divide the means and SDs of each cell's inputs by the median of its means."""
    shares = {}
    for name, rows in rows_by_cell(results, findings).items():
        values = {key: np.array([row[key] for row in rows], dtype=float) for key in _PANELS}
        median = float(np.median(values["mean"]))
        # Of a median that is not above zero, nothing is a share.
        if median > 0:
            shares[name] = {key: some / median for key, some in values.items()}
    return shares


def _chance(results: Results, findings: Sequence[Finding]) -> dict[str, float]:
    """Return the range that the means of each cell have by chance, relative to the range here."""
    table = tables_of(findings, "input_dependence")[0]
    return {
        where(row, table, results): row["chance"] / row["range"]
        for row in table.rows
        if row["range"] > 0
    }


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a row for each cell: a dot for each input, a line from the least to the largest."""
    shares = _shares(results, findings)
    if not shares:
        return None
    names = [*shares][:MOST_ROWS]
    chance = _chance(results, findings)
    records = []
    for name in names:
        for key, values in shares[name].items():
            by_chance = chance.get(name) if key == "mean" else None
            records += _records(name, _PANELS[key], 100 * values, by_chance, len(names))
    label = label_width(names)
    gutter = label + 40
    y = field("name:N", sort=names, title=None, axis=label_axis(label, names))
    panels = _marks()
    panels |= {"width": panel_width(len(_PANELS), gutter), "height": len(names) * _ROW_HEIGHT}
    panels["encoding"] = {"y": y}
    column = field("panel:N", sort=[*_PANELS.values()], header={"title": None})
    chart = {
        "data": data(records), "facet": {"column": column}, "spec": panels,
        "resolve": {"scale": {"x": "independent"}},
    }  # fmt: skip
    return styled(chart, columns=len(_PANELS), gutter=gutter, label=label)


def _records(
    name: str, panel: str, percent: FloatArray, by_chance: float | None, cells: int
) -> list[dict[str, Any]]:
    low, high = float(percent.min()), float(percent.max())
    middle, half = (low + high) / 2, (by_chance or 0) * (high - low) / 2
    whole = {"name": name, "panel": panel, "low": number(low), "high": number(high)}
    if by_chance is not None:
        whole |= {"from": number(middle - half), "to": number(middle + half)}
    inputs = [
        {"name": name, "panel": panel, "input": int(i) + 1, "at": number(percent[i])}
        for i in thin(percent, most_points(cells * len(_PANELS)))
    ]
    return [whole, *inputs]


def _marks() -> Chart:
    scale = {"zero": False, "nice": False, "padding": 8}
    x = axis("% of the median", scale, tickCount=4, labelFlush=True, labelOverlap="greedy")
    names = field("name:N", title="cell")
    ends = [names, field("low:Q", title="least"), field("high:Q", title="largest")]
    each = [names, field("input:Q", title="input"), field("at:Q", title="% of the median")]
    by_chance = {"x": field("from:Q", **x), "x2": field("to")}
    whole = {"x": field("low:Q", **x), "x2": field("high"), "tooltip": ends}
    return layer(
        mark("rule", by_chance, where="isValid(datum.from)", strokeWidth=11, color=colour("band")),
        mark("rule", whole, where="isValid(datum.low)", strokeWidth=1.4, color=colour("ink")),
        mark("circle", {"x": field("at:Q", **x), "tooltip": each}, where="isValid(datum.at)",
             size=20, opacity=0.55, color=colour("s0")),
    )  # fmt: skip


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean, and which ranges are the widest."""
    shares = _shares(results, findings)
    if not shares:
        return (message(phrases.NOTHING),)
    means = max(shares, key=lambda name: float(np.ptp(shares[name]["mean"])))
    sds = max(shares, key=lambda name: float(np.ptp(shares[name]["sd"])))
    return (
        message(
            "dots are inputs, lines reach from the least to the largest, all in percent of "
            "the median of the cell's means; bands behind means are as wide as their range "
            "by chance (95 %)"
        ),
        message(
            "means range most for {name}, over {width} of the median",
            name=means,
            width=Amount(float(np.ptp(shares[means]["mean"])), "share"),
        ),
        message(
            "SDs range most for {name}, from {low} to {high} of the median",
            name=sds,
            low=Amount(float(shares[sds]["sd"].min()), "share"),
            high=Amount(float(shares[sds]["sd"].max()), "share"),
        ),
        *first_of(min(MOST_ROWS, len(shares)), len(shares)),
    )


UNIT = chart_of(
    FINDING.description,
    "Range of means and of SDs over generated inputs",
    draw,
    alternative,
    name="input_ranges",
)
