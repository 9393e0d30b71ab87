"""Several sweeps of one experiment over each other: platforms, periods, workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import calibrations
from tare.features.calibration.charts import Sweep, names_of, overlay, sweeps_of, tell_overlay
from tare.registry import Description
from tare.results.finding import Finding
from tare.results.message import Message


def _sweeps(results: Results) -> Mapping[str, Sweep]:
    """Bring them to one unit; what counts another kind of work stands on no common axis."""
    found = calibrations(results)
    if len(found) < 2 or len({one.work for one in found}) > 1:
        return {}
    return sweeps_of(dict(zip(names_of(found), found, strict=True)))


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw rates over each other, and rates for each CPU beneath."""
    sweeps = _sweeps(results)
    return overlay(sweeps) if sweeps else None


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the largest rate of each, and how much each CPU does."""
    sweeps = _sweeps(results)
    return tell_overlay(sweeps) if sweeps else ()


UNIT = ChartUnit(
    description=Description(
        name="calibration_several",
        title="All sweeps on one axis",
        question="Do platforms and periods scale alike?",
        source="measurement rules of tare",
    ),
    draw=draw,
    alternative=alternative,
)
