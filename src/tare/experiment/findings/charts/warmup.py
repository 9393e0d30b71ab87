"""Do times settle? The SD of a sliding window vs. that of the whole series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.cells import Cells, basis_of
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.grid import Grid, grid, left_out
from tare.experiment.findings.warmup import series
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import MOST_PANELS, colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.statistics.statistic import FloatArray
from tare.statistics.warmup import WINDOW, settle, sliding_sd
from tare.units import scale_for

_GUTTER, _HEIGHT = 62, 64
#: Points of one line; longer series are thinned evenly.
_MOST_POINTS = 100


def _shown(results: Results) -> tuple[Cells, Grid, dict[int, FloatArray]] | None:
    """Arrange the series that are long enough."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    cells = Cells(results, basis)
    arranged = grid(cells, MOST_PANELS)
    long = {
        c.cell: values
        for c in arranged.cells
        if len(values := series(cells, c)) > WINDOW and len(sliding_sd(values))
    }
    return (cells, arranged, long) if long else None


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw the sliding SD as a line, that of the whole as a rule, level shifts as dashes."""
    import altair as alt

    shown = _shown(results)
    if shown is None:
        return None
    cells, arranged, long = shown
    rows = []
    for i, (name, by_platform) in enumerate(arranged.rows):
        some = {p: long[c.cell] for p, c in by_platform.items() if c.cell in long}
        if not some:
            continue
        scale, unit = scale_for([float(np.std(v, ddof=1)) for v in some.values()], cells.basis.unit)
        records = [r for p, values in some.items() for r in _records(p, values, scale)]
        panels = _panels(unit).properties(
            data=data(records),
            width=panel_width(len(arranged.platforms), _GUTTER),
            height=_HEIGHT,
        )
        header = alt.Header(title=None, labels=i == 0 and len(arranged.platforms) > 1)
        column = alt.Column("p:N", sort=arranged.platforms, header=header)
        rows.append(panels.facet(column=column).properties(title=name))
    chart = alt.vconcat(*rows, spacing=12)
    return styled(chart, columns=len(arranged.platforms), gutter=_GUTTER)


def _panels(unit: str) -> Any:
    import altair as alt

    x = alt.X("x:Q", title=None, axis=alt.Axis(tickCount=3, grid=False))
    y: dict[str, Any] = {
        "title": unit,
        "axis": alt.Axis(tickCount=3, minExtent=38, maxExtent=38),
        "scale": alt.Scale(zero=True, nice=True),
    }
    line = alt.Chart().transform_filter("isValid(datum.sd)").mark_line(
        strokeWidth=1.4, color=colour("ink")
    ).encode(x=x, y=alt.Y("sd:Q", **y))  # fmt: skip
    whole = alt.Chart().transform_filter("isValid(datum.whole)").mark_rule(
        strokeWidth=1.4, color=colour("s0")
    ).encode(y=alt.Y("whole:Q", **y))  # fmt: skip
    change = alt.Chart().transform_filter("isValid(datum.change)").mark_rule(
        strokeDash=[4, 3], color=colour("mark")
    ).encode(x=alt.X("change:Q"))  # fmt: skip
    return alt.layer(line, whole, change)


def _records(platform: str, values: FloatArray, scale: float) -> list[dict[str, Any]]:
    windows = sliding_sd(values) / scale
    step = max(1, len(windows) // _MOST_POINTS)
    records: list[dict[str, Any]] = [
        {"p": platform, "x": i + WINDOW, "sd": float(f"{windows[i]:.4g}")}
        for i in range(0, len(windows), step)
    ]
    whole = float(np.std(values, ddof=1)) / scale
    records.append({"p": platform, "whole": float(f"{whole:.4g}")})
    changes = settle(values).changes
    return records + [{"p": platform, "change": i + 1} for i in changes]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say where the window's SD exceeds that of the series most, and where levels shift."""
    shown = _shown(results)
    if shown is None:
        return (message("chart.warmup.short"),)
    cells, arranged, long = shown
    peaks = []
    shifted = 0
    for name, by_platform in arranged.rows:
        for platform, cell in by_platform.items():
            if cell.cell not in long:
                continue
            values = long[cell.cell]
            peak, whole = float(sliding_sd(values).max()), float(np.std(values, ddof=1))
            peaks.append((peak / whole if whole else 1.0, peak, whole, f"{name} on {platform}"))
            shifted += bool(settle(values).changes)
    _, peak, whole, where = max(peaks)
    unit = cells.basis.unit
    return (
        message(
            "chart.warmup.largest",
            window=WINDOW,
            sd=Amount(peak, unit),
            whole=Amount(whole, unit),
            where=where,
        ),
        message("chart.warmup.shifts", some=shifted, total=len(peaks)),
        message("chart.warmup.marks"),
        *left_out(arranged.left_out),
    )


UNIT = ChartUnit(
    description=Description(
        name="warmup",
        title=f"Sliding SD of {WINDOW} values vs. the whole series",
        question="Do times need to warm up?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
