"""One line on how far the medians of a comparison can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings import trusted
from tare.experiment.findings.disturbance import disturbance, said
from tare.experiment.findings.judgement import Difference
from tare.experiment.results import Results
from tare.render.words import text
from tare.results.message import message


def trust(results: Results, found: Sequence[Difference]) -> tuple[str, str]:
    """Return the verdict on medians, and its extent or reason with what disturbed trials."""
    whole = trusted.whole(results)
    label = "Trust" if whole is None else whole.verdict
    written = message(
        "compare.trust",
        claim=whole.claim if whole is not None and whole.verdict == "TRUST" else None,
        doubt=trusted.doubt(results),
        disturbed=said(disturbance(results)),
        paired=all(d.paired for d in found),
    )
    return label, text(written)
