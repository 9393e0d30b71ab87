"""What pinning changes on each platform, size by size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.forest import Ratio, describe_ratios, draw_ratios, ratios
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Finding, Table
from tare.results.message import Message, message


def _table(findings: Sequence[Finding]) -> Table | None:
    """Return the table of values, not that of spreads."""
    tables = tables_of(findings, "pinning")
    return next((t for t in tables if t.id == "values"), None)


def _ratios(results: Results, findings: Sequence[Finding]) -> list[Ratio]:
    table = _table(findings)
    return ratios(table, "pinning", results) if table else []


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw values with pinning vs. those without, a column of panels a way of pinning."""
    some = _ratios(results, findings)
    return draw_ratios(some, results.experiment.margin, "change by pinning") if some else None


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the least and the largest change of each way of pinning."""
    return describe_ratios(_ratios(results, findings), message("chart.platform_pinning.of"))


UNIT = ChartUnit(
    description=Description(
        name="platform_pinning",
        title="What pinning changes, cell by cell",
        question="Does pinning make times more stable?",
        source="PINNING",
    ),
    draw=draw,
    alternative=alternative,
)
