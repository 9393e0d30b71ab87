"""Trials of different generated inputs: histograms of their means and of their SDs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.rows import tables_of, where
from tare.experiment.findings.input_dependence import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.distribution import FEWEST, distribution
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.statistic import FloatArray
from tare.units import scale_for

#: Cells that are drawn; the table has all.
_MOST_CELLS = 12


def rows_by_cell(results: Results, findings: Sequence[Finding]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the table of inputs by the name of their cell."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in tables_of(findings, "input_dependence")[1:]:
        for row in table.rows:
            found.setdefault(where(row, table, results), []).append(row)
    return found


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw two histograms a cell: how many inputs have which mean, and which SD."""
    cells = [*rows_by_cell(results, findings).items()][:_MOST_CELLS]
    if not cells:
        return None
    unit = tables_of(findings, "input_dependence")[1].columns[-1].unit or "1"
    series: dict[str, FloatArray] = {}
    for name, rows in cells:
        for key in ("mean", "sd"):
            values = np.array([row[key] for row in rows], dtype=float)
            scale, shown = scale_for(values, unit)
            title = f"{name}: {'SDs' if key == 'sd' else 'means'}"
            series[f"{title} [{shown}]" if shown else title] = values / scale
    return distribution(series, quantiles=())


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn."""
    cells = rows_by_cell(results, findings)
    dots = all(len(rows) < FEWEST for rows in cells.values())
    return (
        message(
            "{% if dots %}a dot per input{% else %}number of inputs{% endif %} by the mean "
            "of their trials, and by their SD",
            dots=dots,
        ),
        *left_out([*cells][_MOST_CELLS:]),
    )


UNIT = chart_of(
    FINDING.description, "Means and SDs of the trials of each generated input", draw, alternative
)
