"""How stable each platform is: ratios of spreads to that of bare."""

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
    table = comparison_of(findings, "stability")
    return ratios(table, "platform", results) if table else []


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw the spread of every cell vs. that on bare, a column of panels a platform."""
    some = _ratios(results, findings)
    if not some:
        return None
    return draw_ratios(
        some,
        results.experiment.parallel_growth,
        "change of the p10–p90 range",
    )


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the least and the largest spread of each platform."""
    return describe_ratios(_ratios(results, findings), message("chart.spread.of"))


UNIT = ChartUnit(
    description=Description(
        name="spread",
        title="How much wider or narrower times spread on each platform",
        question="Which platform is stable?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
