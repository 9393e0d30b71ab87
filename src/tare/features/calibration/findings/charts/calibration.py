"""How the rate follows the CPU time asked for, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import calibrations
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import sweep_chart
from tare.features.calibration.charts.several import names_of, overlay, sweeps_of, tell_overlay
from tare.features.calibration.charts.sweep import Sweep
from tare.registry import Description
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message


def _sweeps(results: Results) -> dict[str, Sweep]:
    found = calibrations(results)
    return sweeps_of(dict(zip(names_of(found), found, strict=True)))


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw rates, residuals, clock and throttling over one axis; several over each other."""
    sweeps = _sweeps(results)
    if len(sweeps) > 1:
        return overlay(sweeps)
    return sweep_chart(*sweeps.values()) if sweeps else None


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the line, the pieces, and what happened."""
    sweeps = _sweeps(results)
    if len(sweeps) > 1:
        return tell_overlay(sweeps)
    return tell_sweep(*sweeps.values()) if sweeps else ()


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
