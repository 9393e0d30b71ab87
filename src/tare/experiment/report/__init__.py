"""The report of an experiment: what its folder says, as a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.experiment.results import Results
    from tare.experiment.supplies import Supplies
    from tare.results.finding import Finding
    from tare.results.report import Report


def document(
    folder: Path,
    supplies: Supplies,
    findings: Sequence[Finding] | None = None,
    *,
    results: Results,
) -> Report:
    """Lay the report of an experiment out.

    Parameters
    ----------
    folder : Path
        The experiment's folder.
    supplies : Supplies
        What it is worked out and drawn with.
    findings : sequence of Finding, optional
        The answers, where they are worked out already.
    results : Results
        Of the sessions that it is about.
    """
    from tare.experiment.findings.answers import all_findings
    from tare.experiment.report import page
    from tare.experiment.report.origin import origin

    if findings is None:
        findings = all_findings(results, supplies.findings())
    return page.make(results, findings, origin(folder, results), supplies.charts())
