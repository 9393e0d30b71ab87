"""How stable each platform is: ratios of spreads to that of bare."""

from __future__ import annotations

from tare.experiment.findings.charts.forest import ratio_chart
from tare.registry import Description

UNIT = ratio_chart(
    Description(
        name="spread",
        title="How much wider or narrower times spread on each platform",
        question="Which platform is stable?",
        source="STABILITY",
    ),
    finding="stability",
    factor="platform",
    what="change of the p10–p90 range",
    margin=lambda asked: asked.parallel_growth,
)
