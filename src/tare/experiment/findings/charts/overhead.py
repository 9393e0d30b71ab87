"""What each platform costs: ratios to bare with intervals."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.registry import Description

UNIT = ratio_chart(
    Description(
        name="overhead",
        title="What each platform costs, cell by cell",
        question="What does each platform cost?",
        source="STABILITY; PINNING",
    ),
    finding="overhead",
    factor="platform",
    what="change of the value",
    margin=lambda asked: asked.margin,
)
