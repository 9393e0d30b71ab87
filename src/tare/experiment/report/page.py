"""What a report says, in order: the same for every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tare.experiment import request_quantiles
from tare.experiment.findings import caveats, service_load, sessions
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.cells import answer_metric
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.disturbance import switch_records
from tare.experiment.findings.headline import summarize
from tare.experiment.findings.judgement import differences, gate_of, lost
from tare.experiment.findings.overview import overview
from tare.experiment.report.backing import doubts, machine_tables, stop_table
from tare.experiment.report.origin import origin
from tare.experiment.results import Results
from tare.experiment.supplies import Supplies
from tare.render.words import paragraph
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.results.report import Figure, Gate, Origin, Report, Section
from tare.units import counted, duration

_CHART_TEXTS = {
    "at_limit": (
        "{killed | counted('run')} that exceeded the time limit {% if killed == 1 %}is"
        "{% else %}are{% endif %} drawn at the limit"
    ),
    "killed": (
        "{killed | counted('run')} that exceeded the time limit {% if killed == 1 %}is"
        "{% else %}are{% endif %} not drawn"
    ),
}

#: Charts of all cells, which no single question owns.
_OVERVIEW = ("medians",)


def document(
    folder: Path,
    supplies: Supplies,
    findings: Sequence[Finding] | None = None,
    *,
    results: Results,
) -> Report:
    """Lay the report of an experiment's folder out.

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
    if findings is None:
        findings = all_findings(results, supplies.findings())
    return make(results, findings, origin(folder, results), supplies.charts())


def make(
    results: Results,
    findings: Sequence[Finding],
    origin: Origin,
    charts: Mapping[str, ChartUnit] | None = None,
) -> Report:
    """Lay a report out.

    Parameters
    ----------
    results : Results
        What an experiment has stored so far.
    findings : sequence of Finding
        In reading order.
    origin : Origin
        The files that it came from.
    charts : mapping, optional
        By name; None: without, as a terminal shows it.
    """
    charts = charts or {}
    told = summarize(results, findings)
    unread, few = service_load.unread(results), None
    if (
        results.experiment.stopping.compare is None
        and len(results.trial_table.distinct("cell")) > 1
    ):
        # Nothing is judged by it; of what is asked to be compared, its finding says so.
        few = request_quantiles.few_in(results, answer_metric(results))
    recording = switch_records(results)
    return Report(
        name=results.experiment.name,
        question=results.experiment.question,
        answers=told.answers,
        strip=_strip(results),
        sections=tuple(section(f, charts, results, findings) for f in findings),
        origin=origin,
        lead=told.lead,
        gate=_gate(results),
        caveats=(
            *caveats.sentences(sessions.caveats(results), results.levels_of),
            *(said for said in (few, unread) if said is not None),
        ),
        missing=told.missing,
        failed=told.failed,
        notes=(*told.notes, *told.basis, *told.left_out, *([recording] if recording else [])),
        overview=_figures(_OVERVIEW, charts, results.of_levels, findings),
        cells=overview(results),
        stops=stop_table(results),
        doubts=doubts(results),
        machine=tuple(machine_tables(results)),
    )


def _gate(results: Results) -> Gate | None:
    if (gate := results.experiment.stopping.gate) is None:
        return None
    found = differences(results)
    return None if isinstance(found, Message) else gate_of(found, lost(results), gate)


def section(
    finding: Finding, charts: Mapping[str, ChartUnit], results: Results, findings: Sequence[Finding]
) -> Section:
    """Lay out a finding with the charts that it names."""
    results = results if finding.session is None else results.of_levels
    return Section(finding, _figures(finding.charts, charts, results, findings))


def _figures(
    names: Sequence[str],
    charts: Mapping[str, ChartUnit],
    results: Results,
    findings: Sequence[Finding],
) -> tuple[Figure, ...]:
    drawn = []
    for unit in (charts[name] for name in names if name in charts):
        shown = results.of_levels if unit.of_levels else results
        killed = len(shown.trial_table.where(status="killed"))
        if not unit.takes_killed:
            shown = shown.without_killed
        chart: Any = unit.draw(shown, findings)
        if chart is not None:
            told = unit.alternative(shown, findings)
            if killed:
                drawn_at = "at_limit" if unit.takes_killed else "killed"
                told = (*told, message(_CHART_TEXTS[drawn_at], killed=killed))
            alternative = paragraph(told)
            drawn.append(Figure(unit.description.name, unit.description.title, chart, alternative))
    return tuple(drawn)


def _strip(results: Results) -> tuple[tuple[str, str], ...]:
    trials = results.trial_table
    counts = Counter(trials["status"])
    others = [f"{n:,} {status}" for status, n in counts.most_common() if status != "ok"]
    strip = [("good trials", ", ".join([f"{counts['ok']:,}", *others]))]
    strip.append(("cells", f"{len(trials.distinct('cell')):,}"))
    if results.sessions:
        first = str(results.sessions["started"][0])[:10]
        n = len(results.sessions)
        strip.append(("measured on", first if n == 1 else f"{first}, {counted(n, 'session')}"))
    lasted = trials["duration_ns"] if "duration_ns" in trials else np.zeros(0)
    if len(known := lasted[~np.isnan(lasted)]):
        strip.append(("measuring", duration(float(known.sum()) / 1e9)))
    cpus = results.fact("cpus")
    machine = [str(f) for f in (results.fact("cpu"), cpus and counted(int(cpus), "CPU")) if f]
    if machine:
        strip.append(("machine", ", ".join(machine)))
    if results.fact("kernel"):
        strip.append(("kernel", str(results.fact("kernel"))))
    return tuple(strip)
