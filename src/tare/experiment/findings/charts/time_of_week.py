"""Medians by time of the week."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.time_of_day import (
    WEEK_DESCRIPTION,
    timed,
    week_chart,
    week_described,
)
from tare.experiment.results import Results
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Message


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a line per cell; None where nothing lasts long enough."""
    return week_chart(timed(results))


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn."""
    return week_described(timed(results))


UNIT = ChartUnit(
    description=msgspec.structs.replace(WEEK_DESCRIPTION, title="Medians by time of the week"),
    draw=draw,
    alternative=alternative,
)
