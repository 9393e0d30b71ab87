"""What pinning changes on each platform, size by size."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.registry import Description

UNIT = ratio_chart(
    Description(
        name="platform_pinning",
        title="What pinning changes, cell by cell",
        question="Does pinning make times more stable?",
        source="PINNING",
    ),
    finding="pinning",
    factor="pinning",
    what="change by pinning",
    margin=lambda asked: asked.margin,
)
