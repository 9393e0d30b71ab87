"""How the rate follows the CPU time asked for, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import calibrations
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import sweep_chart
from tare.features.calibration.charts.several import names_of, overlay, sweeps_of, tell_overlay
from tare.features.calibration.charts.sweep import asked
from tare.registry import Description
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw rates, residuals, clock and throttling over one axis; several over each other."""
    found = calibrations(results)
    if not found:
        return None
    if len(found) == 1:
        return sweep_chart(asked(found[0]))
    return overlay(sweeps_of(dict(zip(names_of(found), found, strict=True))))


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the line, the pieces, and what happened."""
    found = calibrations(results)
    if not found:
        return ()
    if len(found) == 1:
        return tell_sweep(asked(found[0]))
    return tell_overlay(sweeps_of(dict(zip(names_of(found), found, strict=True))))


UNIT = ChartUnit(
    description=Description(
        name="calibration",
        title="How the rate follows the CPU time or the memory requested",
        question="Does this machine scale linearly with the CPU it is given?",
        source="CALIBRATE",
    ),
    draw=draw,
    alternative=alternative,
)
