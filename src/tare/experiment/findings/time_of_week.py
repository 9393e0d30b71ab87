"""Whether trial values follow the day of the week."""

from __future__ import annotations

from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.time_of_day import WEEK_DESCRIPTION, timed, week_finding
from tare.experiment.results import Results
from tare.results.finding import Finding


def find(results: Results) -> Finding | None:
    """Report a weekly cycle of each cell's values; None where nothing lasts for 3 days."""
    return week_finding(timed(results))


UNIT = FindingUnit(description=WEEK_DESCRIPTION, order=87, find=find, of_rates=True)
