"""The pictures of one sweep: over the CPU time asked for, and over what was delivered."""

from __future__ import annotations

from typing import Any

from tare.features.calibration.charts.axes import GUTTER, Across, rounded, upwards
from tare.features.calibration.charts.key import key_of
from tare.features.calibration.charts.machine import machine
from tare.features.calibration.charts.rates import rates
from tare.features.calibration.charts.residuals import residual, residuals
from tare.features.calibration.charts.sweep import Sweep
from tare.render.drawing import GAP, colour, data, panel_width, styled

_SMALL = 220


def sweep_chart(sweep: Sweep) -> Any:
    """Draw rates, residuals and the machine over one axis of CPUs.

    Parameters
    ----------
    sweep : Sweep
        Against the CPU time asked for.

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


def delivered_chart(sweep: Sweep) -> Any:
    """Draw rates over the CPU time that was delivered, and how much of what was asked that is.

    Parameters
    ----------
    sweep : Sweep
        Against the CPU time delivered.

    Returns
    -------
    altair chart
        Two panels: where the left one is straight and the right one level, both the quota and
        the machine did what they should.
    """
    import altair as alt

    gutter = 2 * GUTTER + GAP
    size = {"width": panel_width(2, gutter), "height": _SMALL}
    left = rates(sweep, Across(sweep.x_title, _furthest(sweep)))
    panels = [
        left.properties(title="By the CPU time delivered", **size),
        _arrived(sweep).properties(title="Delivered, of what was asked for [%]", **size),
    ]
    chart = alt.concat(*panels, columns=2, spacing={"row": 36, "column": GAP + 8})
    return styled(chart, columns=2, gutter=gutter, stack=True)


def _furthest(sweep: Sweep) -> float:
    """Return the largest place that has a mark: of a step, or of one of its trials."""
    return max(x for step in sweep.steps for x in (step.x, *(x for x, _ in step.singles)))


def _arrived(sweep: Sweep) -> Any:
    """Draw which share of the CPU time that was asked for was delivered."""
    import altair as alt

    points = [step.point for step in sweep.steps if step.point is not None]
    shares = [
        {"x": rounded(p.cpus), "y": rounded(100 * p.delivered.value / p.cpus),
         "asked": f"{p.cpus:g} CPUs", "delivered": f"{p.delivered.value:.4g} CPUs"}
        for p in points if p.delivered is not None
    ]  # fmt: skip
    across = Across("CPUs asked for", max(p.cpus for p in points))
    y = upwards(None, 0, 1.1 * max([100.0, *(float(str(r["y"])) for r in shares)]), nice=False)
    x = across.channel("x:Q")
    all_of_it = alt.Chart(data([{"y": 100}])).mark_rule(color=colour("soft"), strokeDash=[6, 4])
    marks = alt.Chart(data(shares)).mark_point(filled=True, size=40, opacity=1, color=colour("ink"))
    tips = [alt.Tooltip("asked:N"), alt.Tooltip("delivered:N")]
    return alt.layer(
        all_of_it.encode(y=alt.Y("y:Q", **y)),
        marks.encode(x=x, y=alt.Y("y:Q", **y), tooltip=tips),
    )
