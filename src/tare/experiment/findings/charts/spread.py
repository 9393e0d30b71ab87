"""How stable each platform is: ratios of spreads to that of bare."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.experiment.findings.stability import UNIT as FINDING

UNIT = ratio_chart(
    FINDING.description, "How much wider or narrower times spread on each platform", name="spread",
    factor="platform", what="change of the p10–p90 range",
    margin=lambda asked: asked.parallel_growth,
)  # fmt: skip
