"""What a report says, in order: the same for every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.findings import caveats, sessions
from tare.findings.headline import summarize
from tare.findings.overview import overview
from tare.frames import Results
from tare.registry import scan
from tare.render.tables import Laid, lay
from tare.report.backing import doubts, machine_tables, stop_table
from tare.report.charts.chart import ChartUnit
from tare.report.origin import Origin
from tare.results.finding import Finding
from tare.results.message import Said, each
from tare.units import counted, duration


@dataclass(frozen=True)
class Figure:
    """A chart with its text alternative."""

    name: str
    title: str
    #: Vega-Lite, with colours by name.
    spec: dict[str, Any]
    alternative: str


@dataclass(frozen=True)
class Section:
    """A question, its answer, and what it rests on."""

    anchor: str
    finding: Finding
    figures: tuple[Figure, ...]
    tables: tuple[Laid, ...]

    @property
    def details(self) -> tuple[Said, ...]:
        """What the head of the page does not say already; all where there is nothing else."""
        said = each(self.finding.answer)
        details = tuple(one for one in said if one not in self.finding.head)
        return details if details or self.tables or self.figures else said


@dataclass(frozen=True)
class Page:
    """A whole report.

    Attributes
    ----------
    lead : Section or None
        The section whose answer stands at the head.
    caveats : tuple of Said
        What weakens everything below; stands above it.
    missing : tuple of Said
        What a budget ended too early, or was stopped as it kept failing; stands above the answer.
    headline : tuple of Said
        The answer first, then what holds for all answers.
    failed : tuple of str
        What failed besides, and why; stands below the answer.
    strip : tuple of (str, str)
        Size and place of the experiment, in a few words each.
    overview : tuple of Figure
        Charts of all cells that no single question owns, below the answer.
    cells : Laid or None
        All cells, a row each, below that.
    stops : Laid or None
        How far each cell got; None for what tare did not measure itself.
    doubtful, calm : str
        Heads what is doubtful; said where nothing is.
    rest : str
        Command that shows the rows of a table that are left out here.
    badges : bool
        Whether questions have verdicts: nobody asks a machine for yes or no.
    unfolded : int
        Rows up to which the first table of a section is shown as a whole.
    """

    name: str
    question: str
    lead: Section | None
    headline: tuple[Said, ...]
    strip: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    overview: tuple[Figure, ...]
    stops: Laid | None
    doubts: tuple[Said, ...]
    machine: tuple[Laid, ...]
    origin: Origin
    doubtful: str = "Failed or doubtful"
    calm: str = "No trial failed, and nothing was doubtful."
    rest: str = "tare export DIR --table findings --json -"
    badges: bool = True
    unfolded: int = 14
    cells: Laid | None = None
    caveats: tuple[Said, ...] = ()
    missing: tuple[Said, ...] = ()
    failed: tuple[Said, ...] = ()

    @property
    def figures(self) -> list[Figure]:
        """Every chart of the report, in order."""
        return [
            *self.overview,
            *(figure for section in self.sections for figure in section.figures),
        ]


#: Charts of all cells, which no single question owns.
_OVERVIEW = ("medians",)


def make(results: Results, findings: Sequence[Finding], origin: Origin) -> Page:
    """Lay a report out.

    Parameters
    ----------
    results : Results
        What an experiment has stored so far.
    findings : sequence of Finding
        In reading order.
    origin : Origin
        The files that it came from.
    """
    charts: dict[str, ChartUnit] = scan("report.charts")
    sections = tuple(_section(f, charts, results, findings) for f in findings)
    told = summarize(results, findings)
    first, cells = told.answers[0], overview(results)
    # One cell is in the answer.
    shown = cells is not None and len(cells.rows) > 1
    return Page(
        name=results.experiment.name,
        question=results.experiment.question,
        lead=next((s for s in sections if first in s.finding.head), None),
        missing=told.missing,
        headline=(first, *told.notes, *(() if shown else told.basis), *told.left_out),
        failed=told.failed,
        strip=_strip(results),
        sections=sections,
        overview=_figures(_OVERVIEW, charts, results.of_levels, findings),
        cells=lay(cells) if shown and cells is not None else None,
        caveats=tuple(caveats.sentences(sessions.caveats(results), results.levels_of)),
        stops=lay(stop_table(results)),
        doubts=doubts(results),
        machine=tuple(lay(table) for table in machine_tables(results)),
        origin=origin,
    )


def _section(
    finding: Finding, charts: dict[str, ChartUnit], results: Results, findings: Sequence[Finding]
) -> Section:
    results = results if finding.session is None else results.of_levels
    return Section(
        anchor=finding.name,
        finding=finding,
        figures=_figures(finding.charts, charts, results, findings),
        tables=tuple(lay(table) for table in finding.tables),
    )


def _figures(
    names: Sequence[str],
    charts: dict[str, ChartUnit],
    results: Results,
    findings: Sequence[Finding],
) -> tuple[Figure, ...]:
    drawn = []
    for name in names:
        unit = charts[name]
        shown = results.of_levels if unit.of_levels else results
        chart: Any = unit.draw(shown, findings)
        if chart is not None:
            alternative = unit.alternative(shown, findings)
            drawn.append(Figure(name, unit.description.title, chart.to_dict(), alternative))
    return tuple(drawn)


def _strip(results: Results) -> tuple[tuple[str, str], ...]:
    trials = results.trial_table
    counts = trials["status"].value_counts()
    good = f"{int(counts.get('ok', 0)):,}"
    others = [f"{n:,} {status}" for status, n in counts.items() if status != "ok"]
    strip = [("good trials", ", ".join([good, *others]))]
    strip.append(("cells", f"{trials['cell'].nunique():,}"))
    if not results.sessions.empty:
        first = str(results.sessions["started"].iloc[0])[:10]
        n = len(results.sessions)
        strip.append(("measured on", first if n == 1 else f"{first}, {counted(n, 'session')}"))
    if "duration_ns" in trials and trials["duration_ns"].notna().any():
        strip.append(("measuring", duration(float(trials["duration_ns"].sum()) / 1e9)))
    cpus = results.fact("cpus")
    machine = [str(f) for f in (results.fact("cpu"), cpus and counted(int(cpus), "CPU")) if f]
    if machine:
        strip.append(("machine", ", ".join(machine)))
    if results.fact("kernel"):
        strip.append(("kernel", str(results.fact("kernel"))))
    return tuple(strip)
