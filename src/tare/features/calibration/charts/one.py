"""The picture of one sweep."""

from __future__ import annotations

from typing import Any

from tare.features.calibration.charts.axes import GUTTER, Across
from tare.features.calibration.charts.key import key_of
from tare.features.calibration.charts.machine import machine
from tare.features.calibration.charts.rates import rates
from tare.features.calibration.charts.residuals import residual, residuals
from tare.features.calibration.charts.sweep import Sweep
from tare.render.drawing import panel_width, styled


def sweep_chart(sweep: Sweep) -> Any:
    """Draw rates, residuals and the machine over one axis of CPUs.

    Parameters
    ----------
    sweep : Sweep

    Returns
    -------
    altair chart
    """
    import altair as alt

    across = Across(sweep.x_title, sweep.steps[-1].x)
    rows = machine(sweep, across)
    off = [residuals(sweep, across, labels=not rows)] if residual(sweep) else []
    panels = [key_of(sweep), rates(sweep, across), *off, *rows]
    width = panel_width(1, GUTTER)
    chart = alt.vconcat(*(p.properties(width=width) for p in panels), spacing=12)
    return styled(chart, gutter=GUTTER)
