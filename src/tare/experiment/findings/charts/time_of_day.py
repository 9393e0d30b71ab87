"""Medians by time of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tare.experiment.findings import time_of_day
from tare.experiment.findings.charts.chart import ChartUnit, chart_of

if TYPE_CHECKING:
    from tare.registry import Description


def cycle_chart(description: Description, period: Literal["day", "week"]) -> ChartUnit:
    """Make a chart with a line per cell; none is drawn where nothing lasts long enough."""
    return chart_of(
        description,
        f"Medians by time of the {period}",
        lambda results, findings: time_of_day.chart(time_of_day.timed(results), period),
        lambda results, findings: time_of_day.described(time_of_day.timed(results), period),
    )


UNIT = cycle_chart(time_of_day.UNIT.description, "day")
