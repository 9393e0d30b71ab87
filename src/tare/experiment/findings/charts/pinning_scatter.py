"""Every iteration, unpinned and pinned, a colour per worker: STABILITY's taskset figure."""

from __future__ import annotations

from tare.experiment.findings.charts.scatter import scatter_chart
from tare.registry import Description

UNIT = scatter_chart(
    Description(
        name="pinning_scatter",
        title="Every iteration, unpinned and pinned, by worker",
        question="Does pinning make times more stable?",
        source="STABILITY",
    ),
    factor="pinning",
    by_worker=True,
)
