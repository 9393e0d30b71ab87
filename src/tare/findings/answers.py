"""All answers of an experiment, in reading order."""

from __future__ import annotations

from tare.findings.finding import Finding
from tare.registry import scan
from tare.results import Results


def all_findings(results: Results) -> list[Finding]:
    """Ask every question that applies.

    Parameters
    ----------
    results : Results
        What an experiment has stored so far.

    Returns
    -------
    list of Finding
        In reading order; the same results always give the same findings.
    """
    units = sorted(scan("findings").values(), key=lambda unit: unit.order)
    return [found for unit in units if (found := unit.find(results)) is not None]
