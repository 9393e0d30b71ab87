"""Every cell at a glance: median with interval, and the spread of single workers' values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings import known
from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of
from tare.experiment.findings.charts import phrases
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import first_of
from tare.experiment.findings.level_names import at_levels
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import refusal
from tare.registry import Description
from tare.render.drawing import (
    Chart,
    axis,
    by_series,
    colour,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.statistic import FloatArray
from tare.units import scale_for

#: Cells that one chart holds; the table has all.
_MOST = 160
_LANE = 11


def labelled(platform: str, results: Results) -> str:
    """Name a platform in a legend, with what makes its times no measure of hardware."""
    return f"{platform} (emulated)" if platform in results.emulated else platform


def _cells(results: Results) -> tuple[Cells, list[Cell]] | None:
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    cells = cells_of(results, basis)
    return cells, cells.all[:_MOST]


def _rows_of(cells: Cells, some: list[Cell]) -> dict[str, list[tuple[str, Cell]]]:
    """Cells by workload, each with its levels other than platform in words.

    Workloads that are compared stand on one axis.
    """
    together = cells.results.experiment.stopping.compare == "workload"
    apart = ("platform",) if together else ("platform", "workload")
    varied = [f for f in cells.varied if f not in apart]
    found: dict[str, list[tuple[str, Cell]]] = {}
    for cell in some:
        levels = {f: v for f, v in cell.levels.items() if f not in apart}
        name = at_levels(levels, varied) or cell.levels["workload"]
        found.setdefault("" if together else cell.levels["workload"], []).append((name, cell))
    return found


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel for each workload: a row for each group of levels, a lane a platform."""
    found = _cells(results)
    # The cells of a sweep are points of one curve: they have charts of their own.
    if found is None or not found[1] or refusal(results) is None:
        return None
    cells, some = found
    platforms = [*dict.fromkeys(labelled(c.levels["platform"], results) for c in some)]
    by_workload = _rows_of(cells, some)
    label = label_width(name for rows in by_workload.values() for name, _ in rows)
    gutter = label + 20
    panels = []
    for workload, rows in by_workload.items():
        middles = [np.median(_drawn(c)) for _, c in rows]
        scale, unit = scale_for(middles, cells.basis.unit)
        names = list(dict.fromkeys(name for name, _ in rows))
        panel = _panel(names, platforms, unit, label)
        panel |= {
            "data": {
                "values": [_record(name, c, scale, cells.basis.unit, results) for name, c in rows]
            },
            "title": workload if len(by_workload) > 1 else "",
            "width": panel_width(1, gutter),
            "height": len(names) * (_LANE * len(platforms) + 8),
        }
        panels.append(panel)
    chart = {"vconcat": panels, "spacing": 10}
    return styled(chart, columns=1, gutter=gutter, label=label)


def _panel(names: list[str], platforms: list[str], unit: str, label: int) -> Chart:
    tint, shape = by_series(platforms, "platform")
    x = axis(unit, {"zero": False, "nice": True}, tickCount=6)
    spread = {"x": field("p10:Q", **x), "x2": field("p90")}
    interval = {"x": field("low:Q", **x), "x2": field("high")}
    middle = {"x": field("middle:Q", **x), "shape": shape}
    return layer(
        mark("rule", interval, strokeWidth=6, opacity=0.4),
        # Over the interval, which is the wider one where there are few values.
        mark("rule", spread, strokeWidth=1.2),
        mark("point", middle, filled=True, size=64, opacity=1, stroke=colour("page"),
             strokeWidth=1),
        channels={
            "y": field("name:N", sort=names, title=None, axis=label_axis(label, names)),
            "yOffset": field("platform:N", sort=platforms),
            "color": tint,
            "tooltip": [
                field(f"{key}:N", title=key) for key in ("platform", "median", "spread", "n")
            ],
        },
    )  # fmt: skip


def _drawn(cell: Cell) -> FloatArray:
    """Return the values of a cell's workers, those above a time limit at the limit."""
    return np.where(np.isposinf(cell.workers), cell.above[:, None], cell.workers)


def _record(
    name: str, cell: Cell, scale: float, unit_of_cells: str, results: Results
) -> dict[str, Any]:
    median = cell.median
    middle, lowest, highest = median.drawn
    p10, p90 = np.quantile(_drawn(cell), [0.1, 0.9])
    ends = {
        "middle": middle,
        "low": lowest,
        "high": highest,
        "p10": p10,
        "p90": p90,
    }
    record: dict[str, Any] = {
        key: None if value is None else float(f"{value / scale:.6g}") for key, value in ends.items()
    }
    interval = "no interval" if record["low"] is None else f"[{record['low']}, {record['high']}]"
    told = f"{record['middle']} {interval}"
    if cell.killed:
        told = known.figure(unit_of_cells, median)
    return record | {
        "name": name,
        "platform": labelled(cell.levels["platform"], results),
        "median": told,
        "spread": f"{record['p10']} – {record['p90']}",
        "n": cell.n,
    }


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    found = _cells(results)
    if found is None:
        return (message(phrases.NOTHING),)
    cells, some = found
    n = [c.n for c in some]
    return (
        message(
            "marks are medians of the {metric | metric}; pale bars are 95 % intervals, thin "
            "lines the p10–p90 range of single workers; n = {% if least < most %}{least} to "
            "{% endif %}{most}",
            metric=cells.basis.metric,
            least=min(n),
            most=max(n),
        ),
        *first_of(_MOST, len(cells.all)),
    )


UNIT = ChartUnit(
    description=Description(
        name="medians",
        title="Every cell: median with interval, and spread",
        question="How long does each cell take, and how much does it vary?",
        source="inference rules of tare",
    ),
    draw=draw,
    alternative=alternative,
    takes_killed=True,
)
