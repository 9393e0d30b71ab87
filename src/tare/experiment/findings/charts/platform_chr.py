"""Overhead over CHR: what shrinks as a platform gets more cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.findings.platform_cells import Beside, cost_basis, over_sizes
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.by_size import by_size
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Message, message

#: Lines that are drawn.
_MOST = 8


def _some(results: Results) -> list[Beside]:
    """Return what has several sizes, first where PTO and PSO are identifiable."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return []
    several = [b for b in over_sizes(results, basis) if len(b.found.sizes) > 1]
    return sorted(several, key=lambda b: b.found.refusal is not None)[:_MOST]


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw ratios with intervals over CHR, a line a platform."""
    some = _some(results) if tables_of(findings, "platform_size") else []
    if not some:
        return None
    rows = [
        {
            "panel": "",
            "series": text(one.name if one.reference_pinning == one.pinning else one.versus),
            "x": size.chr,
            "at": size.ratio.value,
            "low": size.ratio.low,
            "high": size.ratio.high,
        }
        for one in some
        for size in one.found.sizes
    ]
    sizes = "CHR: assigned cores / host cores"
    return by_size(rows, "overhead ratio", sizes=sizes, logarithmic=True, line_at=1.0)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean."""
    return (message("chart.platform_chr.marks"),)


UNIT = ChartUnit(
    description=Description(
        name="platform_chr",
        title="Overhead over CHR",
        question="What of a platform's cost is its type's, and what its size's?",
        source="PINNING",
    ),
    draw=draw,
    alternative=alternative,
)
