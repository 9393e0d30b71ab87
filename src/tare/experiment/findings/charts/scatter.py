"""All iterations of all cells, in order of time: STABILITY's main figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    IN_LINE,
    MOST_MARKS,
    SERIES,
    Chart,
    axis,
    by_series,
    colour,
    data,
    field,
    layer,
    mark,
    panel_width,
    quoted,
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


@lru_cache(maxsize=2)
def _select(results: Results, basis: Basis, factor: str) -> _Shown:
    # One platform is worth a row; one level of another factor compares nothing.
    fewest = 1 if factor == "platform" else 2
    arranged = grid(cells_of(results, basis), factor=factor, fewest=fewest)
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


def scatter_chart(description: Description, factor: str, *, by_worker: bool = False) -> ChartUnit:
    """Make a chart of every iteration, in order of time.

    Parameters
    ----------
    factor : str
        The one whose levels are the columns of panels.
    by_worker : bool
        Whether each worker has its colour and shape. Otherwise, and in rows of more workers than
        there are colours, worker 0 is filled and the others are rings.
    """

    def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
        basis = basis_of(results)
        # The cells of a sweep are points of one curve: they have charts of their own.
        if isinstance(basis, Message) or refusal(results) is None:
            return None
        shown = _select(results, basis, factor)
        return _chart(shown, basis, factor, by_worker)

    def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
        basis = basis_of(results)
        if isinstance(basis, Message):
            return (basis,)
        shown = _select(results, basis, factor)
        return tuple(_describe(shown, basis, factor, by_worker))

    return ChartUnit(description=description, draw=draw, alternative=alternative, of_levels=True)


def _coloured(points: Columns) -> list[str]:
    """Name the workers in order of their numbers; none where they are more than the colours."""
    numbers = {_worker(number) for number in points.distinct("worker")}
    return [f"worker {n}" for n in sorted(numbers)] if len(numbers) <= len(SERIES) else []


def _worker(number: float | None) -> int:
    """Return the number of a worker; a trial without workers has worker 0 only."""
    return 0 if number is None or math.isnan(number) else int(number)


def _chart(shown: _Shown, basis: Basis, factor: str, by_worker: bool) -> Chart | None:
    """Draw a row of panels for each group of levels, a column for each level of a factor."""
    columns = shown.grid.columns
    if not columns:
        return None
    coloured = [_coloured(points) if by_worker else [] for points in shown.rows]
    # All rows share one legend.
    workers = sorted({name for names in coloured for name in names})
    rows = []
    for i, ((name, _), points) in enumerate(zip(shown.grid.rows, shown.rows, strict=True)):
        scale, unit = scale_for(points["value"], basis.unit)
        marks = _by_worker(workers) if coloured[i] else _rings("s0" if workers else "mark")
        dense = len(points) / len(columns) >= _FEW_POINTS * max(1, len(coloured[i]))
        panels = _panels(unit, marks, size=13 if dense else 26)
        panels |= {"width": panel_width(len(columns), _GUTTER), "height": _HEIGHT}
        header: Chart = {"title": None, "labels": i == 0 and len(columns) > 1}
        if factor != "platform":
            header["labelExpr"] = f"{quoted(factor + ': ')} + datum.value"
        column = field("p:N", sort=columns, header=header)
        rows.append({"title": name, "data": data(_records(points, scale, factor, columns)),
                     "facet": {"column": column}, "spec": panels})  # fmt: skip
    chart = {"vconcat": rows, "spacing": 12}
    return styled(chart, columns=len(columns), gutter=_GUTTER)


def _by_worker(workers: Sequence[str]) -> list[Chart]:
    """Draw each worker in its colour and shape."""
    tint, shape = by_series(workers, "s")
    return [mark("point", {"color": tint, "shape": shape}, filled=True, opacity=0.7)]


def _rings(first: str) -> list[Chart]:
    """Draw worker 0 filled, in the colour of that name, and other workers as rings."""
    return [
        mark("point", {}, where="datum.w > 0", strokeWidth=0.9, opacity=0.65,
             stroke=colour("quiet")),
        mark("circle", {}, where="datum.w <= 0", opacity=0.85, color=colour(first)),
    ]  # fmt: skip


def _panels(unit: str, marks: Sequence[Chart], size: int) -> Chart:
    """Draw iterations by these marks, and the median as a line."""
    y = field("y:Q", **axis(unit, {"zero": False, "nice": True}, tickCount=4, **IN_LINE))
    channels = {
        "x": field("x:Q", axis=None, scale={"nice": False, "padding": 4}),
        "y": y,
        "size": {"value": size},
        "tooltip": [
            field("y:Q", title=unit),
            field("t:Q", title="trial"),
            field("w:N", title="worker"),
            field("i:N", title="iteration"),
        ],
    }
    return layer(
        layer(*marks, channels=channels),
        mark("rule", {"y": field("m:Q")}, where="isValid(datum.m)", color=colour("ink"),
             strokeWidth=1, opacity=0.7),
    )  # fmt: skip


def _records(
    points: Columns, scale: float, factor: str, columns: Sequence[str]
) -> list[dict[str, Any]]:
    iterations = points["iteration"][~np.isnan(points["iteration"])]
    per_trial = iterations.max() + 1 if len(iterations) else 1
    medians = points.reduced(factor, "value", median)
    # A level without cells has an empty panel, so that columns of rows are in line.
    records: list[dict[str, Any]] = [{"p": level} for level in columns if level not in medians]
    for row in points.records():
        iteration = None if row["iteration"] is None else int(row["iteration"])
        record = {
            "p": row[factor],
            "x": round(row["order"] + (iteration or 0) / per_trial, 3),
            "y": float(f"{row['value'] / scale:.6g}"),
            "w": (worker := _worker(row["worker"])),
            "s": f"worker {worker}",
            "i": iteration,
            "t": row["trial"],
        }
        if row[factor] in medians:
            record["m"] = float(f"{medians.pop(row[factor]) / scale:.6g}")
        records.append(record)
    return records


def _describe(shown: _Shown, basis: Basis, factor: str, by_worker: bool) -> Iterator[Message]:
    """Say what is drawn, and what was thinned."""
    yield message(
        "every iteration in order of time, by {metric | metric}: a row for each group of "
        "levels{% if columns | length > 1 %}, a column for each {% if factor != 'platform' %}"
        "level of {% endif %}{factor} ({columns | listing}){% else %}, all on "
        "{columns | listing}{% endif %}",
        metric=basis.metric,
        factor=factor,
        columns=shown.grid.columns,
    )
    coloured = [by_worker and bool(_coloured(points)) for points in shown.rows]
    if any(coloured):
        most = None if all(coloured) else len(SERIES)
        yield message(
            "each worker has its colour and shape; {% if most %}with more than {most} "
            "workers, worker 0 is filled and the others are rings; {% endif %}the line is "
            "the median",
            most=most,
        )
    else:
        yield message("worker 0 is filled, other workers are rings; the line is the median")
    if shown.every > 1:
        yield message(
            "{drawn} of {total} iterations are drawn, one in {every} trials of each cell; "
            "tables and intervals use all",
            drawn=sum(len(points) for points in shown.rows),
            total=shown.total,
            every=shown.every,
        )
    yield from left_out(shown.grid.left_out)


UNIT = scatter_chart(
    Description(
        name="scatter",
        title="Every iteration, by platform, workload and load",
        question="What do the measured times look like?",
        source="STABILITY",
    ),
    factor="platform",
)
