"""What each platform costs: ratios to bare with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.forest import Ratio, describe_ratios, draw_ratios, ratios
from tare.experiment.findings.charts.rows import comparison_of
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Finding
from tare.results.message import Message, message


def _ratios(results: Results, findings: Sequence[Finding]) -> list[Ratio]:
    table = comparison_of(findings, "overhead")
    return ratios(table, "platform", results) if table else []


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw the overhead of every cell vs. bare, a column of panels a platform."""
    some = _ratios(results, findings)
    return draw_ratios(some, results.experiment.margin, "change of the value") if some else None


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the least and the largest overhead of each platform."""
    return describe_ratios(_ratios(results, findings), message("chart.overhead.of"))


UNIT = ChartUnit(
    description=Description(
        name="overhead",
        title="What each platform costs, cell by cell",
        question="What does each platform cost?",
        source="STABILITY; PINNING",
    ),
    draw=draw,
    alternative=alternative,
)
