"""Medians by time of the week."""

from __future__ import annotations

from tare.experiment.findings.charts.time_of_day import cycle_chart
from tare.experiment.findings.time_of_day import WEEK_DESCRIPTION

UNIT = cycle_chart(WEEK_DESCRIPTION, "week")
