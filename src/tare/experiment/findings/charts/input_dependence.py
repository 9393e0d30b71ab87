"""Trials of different generated inputs: histograms of their means and of their SDs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.experiment.findings.cells import Cells, basis_of
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.statistics.statistic import FloatArray
from tare.units import scale_for

_GUTTER, _HEIGHT, _MOST_ROWS, _BINS = 96, 70, 12, 24


@dataclass(frozen=True)
class _Inputs:
    """One cell's inputs: mean and SD of the trials of each."""

    name: str
    means: FloatArray
    sds: FloatArray


def _inputs(results: Results) -> tuple[str, list[_Inputs]] | None:
    """Take each workload's plainest cell, the first of the experiment."""
    basis = basis_of(results)
    if isinstance(basis, Message) or results.experiment.inputs < 2:
        return None
    seeds = results.trial_table.set_index("trial")["seed"]
    found: dict[str, _Inputs] = {}
    for cell in Cells(results, basis).all:
        name = cell.levels["workload"]
        if name in found:
            continue
        values = results.values(basis.metric, basis.source)
        values = values[values["cell"] == cell.cell]
        by_input = values.groupby(values["trial"].map(seeds))["value"]
        if by_input.ngroups > 1:
            found[name] = _Inputs(
                name,
                np.asarray(by_input.mean(), dtype=float),
                np.asarray(by_input.std().dropna(), dtype=float),
            )
    return (basis.unit, list(found.values())) if found else None


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row for each workload: how many inputs have which mean, and which SD."""
    import altair as alt

    found = _inputs(results)
    if found is None:
        return None
    unit, inputs = found
    rows = []
    for one in inputs[:_MOST_ROWS]:
        pair = [
            _histogram(values, unit, what)
            for what, values in (("mean", one.means), ("SD", one.sds))
            if len(values)
        ]
        rows.append(alt.hconcat(*pair, spacing=18).properties(title=one.name))
    return styled(alt.vconcat(*rows, spacing=12), columns=2, gutter=_GUTTER, most=360)


def _histogram(values: FloatArray, unit: str, what: str) -> Any:
    import altair as alt

    scale, name = scale_for(values, unit)
    counts, edges = np.histogram(values / scale, bins=min(_BINS, max(5, len(values) // 2)))
    records = [
        {"from": float(f"{a:.6g}"), "to": float(f"{b:.6g}"), "n": int(n)}
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    x = alt.X(
        "from:Q",
        bin="binned",
        title=f"{what} of an input's trials, {name}" if name else f"{what} of an input's trials",
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(tickCount=4, grid=False, titlePadding=2),
    )
    y = alt.Y(
        "n:Q",
        title="inputs",
        axis=alt.Axis(tickCount=3, tickMinStep=1, format="d", minExtent=24, maxExtent=24),
    )
    chart = alt.Chart(data(records)).mark_bar(color=colour("s0"), opacity=0.75)
    return chart.encode(
        x=x, x2="to:Q", y=y, tooltip=[alt.Tooltip(f"{k}:Q") for k in ("from", "to", "n")]
    ).properties(width=panel_width(2, _GUTTER), height=_HEIGHT)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the range of means and SDs of each workload."""
    found = _inputs(results)
    if found is None:
        return (message("chart.nothing"),)
    unit, inputs = found
    workloads = [
        message(
            "chart.input_dependence.workload",
            workload=one.name,
            inputs=len(one.means),
            means=_range(one.means, unit),
            sds=_range(one.sds, unit) if len(one.sds) else None,
        )
        for one in inputs[:_MOST_ROWS]
    ]
    return (
        message("chart.input_dependence.workloads", workloads=workloads),
        *left_out([one.name for one in inputs[_MOST_ROWS:]]),
    )


def _range(values: FloatArray, unit: str) -> Message:
    return message(
        "chart.input_dependence.range",
        least=Amount(float(values.min()), unit),
        most=Amount(float(values.max()), unit),
    )


UNIT = ChartUnit(
    description=Description(
        name="input_dependence",
        title="Means and SDs of the trials of each generated input",
        question="Do times depend on the input?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
