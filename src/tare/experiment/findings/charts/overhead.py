"""What each platform costs: ratios to bare with intervals."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.experiment.findings.overhead import UNIT as FINDING

UNIT = ratio_chart(
    FINDING.description, "What each platform costs, cell by cell",
    factor="platform", what="change of the value", margin=lambda asked: asked.margin,
)  # fmt: skip
