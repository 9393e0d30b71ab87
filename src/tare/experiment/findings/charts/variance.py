"""Shares of the variance by factor and interaction."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.variance import UNIT as FINDING
from tare.experiment.findings.variance import described, drawn, explained
from tare.experiment.results import Results
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a bar per effect; None where nothing is decomposed."""
    found = explained(results)
    return None if found is None else drawn(found)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what each effect explains."""
    found = explained(results)
    return () if found is None else described(found)


UNIT = chart_of(FINDING.description, "Shares of the variance by factor", draw, alternative)
