"""How the rate follows the CPU time asked for, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.calibration.conclude import calibrations
from tare.findings.finding import Finding
from tare.registry import Description
from tare.report.calibration_charts import asked, sweep_chart, tell_sweep
from tare.report.charts.chart import ChartUnit
from tare.results import Results


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw rates, residuals, clock and throttling over one axis."""
    found = calibrations(results)
    return sweep_chart(asked(found[0])) if len(found) == 1 else None


def alternative(results: Results, findings: Sequence[Finding]) -> str:
    """Tell the line, the pieces, and what happened."""
    found = calibrations(results)
    return tell_sweep(asked(found[0])) if found else "Nothing was swept."


UNIT = ChartUnit(
    description=Description(
        name="calibration",
        title="How the rate follows the CPU time that is asked for",
        question="Does this machine scale linearly with the CPU it is given?",
        source="CALIBRATE",
    ),
    draw=draw,
    alternative=alternative,
)
