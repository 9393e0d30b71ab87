"""One line on how far a comparison can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings import trusted
from tare.experiment.findings.disturbance import disturbance, said
from tare.experiment.findings.judgement import Difference
from tare.experiment.results import Results
from tare.render.words import text
from tare.results.message import message


def trust(results: Results, found: Sequence[Difference]) -> str:
    """Return what makes medians doubtful, what disturbed trials, and what protects from it."""
    return text(
        message(
            "compare.trust",
            doubt=trusted.said(results),
            disturbed=said(disturbance(results)),
            paired=all(d.paired for d in found),
        )
    )
