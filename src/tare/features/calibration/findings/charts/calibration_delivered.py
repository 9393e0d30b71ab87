"""Whether the quota did not arrive, or the CPU was slower: rates over the CPU time delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import calibrations
from tare.features.calibration.charts import Sweep, delivered, delivered_chart, tell_delivered
from tare.registry import Description
from tare.results.finding import Finding
from tare.results.message import Message


def _sweep(results: Results) -> Sweep | None:
    found = calibrations(results)
    return delivered(found[0]) if len(found) == 1 else None


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw rates over the CPU time delivered, and the share of what was asked that this is."""
    sweep = _sweep(results)
    return None if sweep is None else delivered_chart(sweep)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the line over what was delivered, and how much that was."""
    sweep = _sweep(results)
    return () if sweep is None else tell_delivered(sweep)


UNIT = ChartUnit(
    description=Description(
        name="calibration_delivered",
        title="How the rate follows the CPU time that is delivered",
        question="Did the quota not arrive, or was the CPU slower?",
        source="measurement rules of tare",
    ),
    draw=draw,
    alternative=alternative,
)
