"""All iterations of all cells, in order of time: STABILITY's main figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tare.experiment.findings.cells import Basis, basis_of, cells_of
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.grid import Grid, grid, left_out
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import refusal
from tare.registry import Description
from tare.render.drawing import (
    MOST_MARKS,
    Chart,
    colour,
    data,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.statistic import median
from tare.units import scale_for

_GUTTER = 62
_HEIGHT = 92
#: Panels with fewer points have larger ones.
_FEW_POINTS = 80


@dataclass(frozen=True)
class _Shown:
    """The iterations that are drawn.

    Attributes
    ----------
    rows : list of Columns
        Iterations of each row of the grid; ``order`` numbers the trials of a cell.
    every : int
        Only every so many trials of a cell are drawn.
    total : int
        Iterations that there are in the rows.
    """

    grid: Grid
    rows: list[Columns]
    every: int
    total: int


@lru_cache(maxsize=1)
def _select(results: Results, basis: Basis) -> _Shown:
    arranged = grid(cells_of(results, basis))
    points = results.sample_table.of(basis.metric, basis.source).joined(results.good, "trial")
    by_cell = dict(points.sorted_by("trial").groups("cell"))
    cells = [[by_cell[c.cell] for c in row.values()] for _, row in arranged.rows]
    total = sum(len(points) for row in cells for points in row)
    every = math.ceil(total / MOST_MARKS)
    rows = [Columns.concatenated([_thin(points, every) for points in row]) for row in cells]
    return _Shown(arranged, rows, every, total)


def _thin(points: Columns, every: int) -> Columns:
    """Add the trials' numbers in order of time, and keep every ``every``-th trial."""
    order = points.group_numbers("trial")
    return points.with_columns(order=order).rows(order % every == 0)


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a row of panels for each workload and load, a column for each platform."""
    basis = basis_of(results)
    # The cells of a sweep are points of one curve: they have charts of their own.
    if isinstance(basis, Message) or refusal(results) is None:
        return None
    shown = _select(results, basis)
    platforms = shown.grid.platforms
    rows = []
    for i, ((name, _), points) in enumerate(zip(shown.grid.rows, shown.rows, strict=True)):
        scale, unit = scale_for(points["value"], basis.unit)
        panels = _panels(unit, len(points) / len(platforms))
        panels |= {"width": panel_width(len(platforms), _GUTTER), "height": _HEIGHT}
        header = {"title": None, "labels": i == 0 and len(platforms) > 1}
        column = field("p:N", sort=platforms, header=header)
        rows.append({"title": name, "data": data(_records(points, scale)),
                     "facet": {"column": column}, "spec": panels})  # fmt: skip
    chart = {"vconcat": rows, "spacing": 12}
    return styled(chart, columns=len(platforms), gutter=_GUTTER)


def _panels(unit: str, points: float) -> Chart:
    """Draw worker 0 filled, other workers as rings, and the median as a line."""
    size = 26 if points < _FEW_POINTS else 13

    channels = {
        "x": field("x:Q", axis=None, scale={"nice": False, "padding": 4}),
        "y": field(
            "y:Q",
            title=unit,
            scale={"zero": False, "nice": True},
            axis={"tickCount": 4, "minExtent": 38, "maxExtent": 38},
        ),
        "tooltip": [
            field("y:Q", title=unit),
            field("t:Q", title="trial"),
            field("w:N", title="worker"),
            field("i:N", title="iteration"),
        ],
    }
    return layer(
        mark("point", channels, where="datum.w > 0", size=size, strokeWidth=0.9, opacity=0.65,
             stroke=colour("quiet")),
        mark("circle", channels, where="datum.w <= 0", size=size, opacity=0.85,
             color=colour("mark")),
        mark("rule", {"y": field("m:Q")}, where="isValid(datum.m)", color=colour("ink"),
             strokeWidth=1, opacity=0.7),
    )  # fmt: skip


def _records(points: Columns, scale: float) -> list[dict[str, Any]]:
    iterations = points["iteration"][~np.isnan(points["iteration"])]
    per_trial = iterations.max() + 1 if len(iterations) else 1
    medians = points.reduced("platform", "value", median)
    records: list[dict[str, Any]] = []
    for row in points.records():
        iteration = None if row["iteration"] is None else int(row["iteration"])
        record = {
            "p": row["platform"],
            "x": round(row["order"] + (iteration or 0) / per_trial, 3),
            "y": float(f"{row['value'] / scale:.6g}"),
            "w": -1 if row["worker"] is None else int(row["worker"]),
            "i": iteration,
            "t": row["trial"],
        }
        if row["platform"] in medians:
            record["m"] = float(f"{medians.pop(row['platform']) / scale:.6g}")
        records.append(record)
    return records


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn, and what was thinned."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return (basis,)
    shown = _select(results, basis)
    thinned = message(
        "chart.scatter.thinned",
        drawn=sum(len(points) for points in shown.rows),
        total=shown.total,
        every=shown.every,
    )
    return (
        message("chart.scatter.drawn", metric=basis.metric, platforms=shown.grid.platforms),
        message("chart.scatter.marks"),
        *((thinned,) if shown.every > 1 else ()),
        *left_out(shown.grid.left_out),
    )


UNIT = ChartUnit(
    description=Description(
        name="scatter",
        title="Every iteration, by platform, workload and load",
        question="What do the measured times look like?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
