"""What pinning changes on each platform, size by size."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.experiment.findings.pinning import UNIT as FINDING

UNIT = ratio_chart(
    FINDING.description, "What pinning changes, cell by cell", name="platform_pinning",
    source="PINNING", factor="pinning", what="change by pinning",
    margin=lambda asked: asked.margin,
)  # fmt: skip
