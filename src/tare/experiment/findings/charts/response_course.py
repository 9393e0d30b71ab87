"""Response times over the time of a trial: warm-up, pauses, a backlog that grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tare.experiment.findings.charts import phrases
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.response_times import MOST_SENTENCES, drawn
from tare.experiment.findings.requests_seen import Course, seen
from tare.experiment.request_quantiles import requests_needed
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

#: Panels: the table has all cells.
_MOST_CELLS = 12
#: Lines, with the requests that a moment must have for each.
_QUANTILES = (("median", 0.5, 1), ("95 %", 0.95, requests_needed("p95")))


def _courses(results: Results) -> list[tuple[str, Course]]:
    found = seen(results).courses
    return [(name, found[cell.cell]) for name, cell, _ in drawn(results)]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a cell: median, 95 % and longest of what was to start at each moment."""
    courses = _courses(results)[:_MOST_CELLS]
    if not courses:
        return None
    panels = [(name, _lines(course)) for name, course in courses]
    if len(panels) == 1:
        panels = [("", panels[0][1])]
    return lines(panels, Axis("time since the first request of a trial", "ns", even=True),
                 Axis("response time", "ns"), marks=False)  # fmt: skip


def _lines(course: Course) -> list[Line]:
    at = (np.arange(course.moments) + 0.5) * course.width_ns
    found = [(name, course.quantile(q, fewest)) for name, q, fewest in _QUANTILES]
    found.append(("longest", np.where(course.most_ns > 0, course.most_ns, np.nan)))
    return [
        Line(name, at[known].tolist(), values[known].tolist())
        for name, values in found
        if (known := ~np.isnan(values)).any()
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn, with the first and the last part of each panel."""
    courses = _courses(results)
    if not courses:
        return (message(phrases.RESPONSE_TIMES_NOTHING),)
    parts = []
    for name, course in courses if len(courses) <= MOST_SENTENCES else ():
        medians = course.quantile(0.5)
        known = medians[~np.isnan(medians)]
        part = max(1, len(known) // 10)
        parts.append(
            message(
                "{at}: median {first} in the first tenth of a trial, {last} in the last",
                at=name,
                first=Amount(float(np.median(known[:part])), "ns"),
                last=Amount(float(np.median(known[-part:])), "ns"),
            )
        )
    return (
        message(
            "median, 95 % (from 200 requests on) and longest response time of the requests "
            "that were to start at each moment, all trials together"
        ),
        *parts,
        *left_out([name for name, _ in courses[_MOST_CELLS:]]),
    )


UNIT = ChartUnit(
    description=Description(
        name="response_course",
        title="Response times over the time of a trial, all trials",
        question="Do requests take longer at some time of a trial?",
        source="time series of latency, as load generators draw them",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
