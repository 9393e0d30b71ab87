"""Pages of calibrations that are no experiment: somebody's sweep, settings, two machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tare
from tare.calibration.document import Calibration
from tare.calibration.fairness import IN_ORDER
from tare.calibration.mapping_document import Mapping as Between
from tare.calibration.matrix import Matrix
from tare.render.tables import Laid
from tare.render.words import text
from tare.report import calibration_charts as charts
from tare.report import calibration_page_tables as tables
from tare.report.origin import Origin
from tare.report.page import Figure, Page, Section
from tare.results.finding import Finding
from tare.results.message import Message, Said, message

#: With which a page is asked for.
OPTION = "--report calibration.html"
_LINEAR = "Does this machine scale linearly with the CPU it is given?"


def write_fit(sweep: charts.Sweep, source: str, destination: Path, command: str) -> list[Path]:
    """Write the page of somebody else's sweep: HTML, or Markdown with its charts beside it.

    Parameters
    ----------
    sweep : Sweep
        As :func:`tare.report.calibration_charts.fitted` makes it.
    source : str
        Where it comes from: the file's name.
    destination : Path
        Its ending, ``.html`` or ``.md``, tells the format.
    command : str
        That makes the page again.

    Returns
    -------
    list of Path
        What was written, the page itself first.

    Raises
    ------
    StoreError
        If the ending is another, or the page cannot be written.
    """
    return _put(of_fit(sweep, source, command), destination)


def write_matrix(
    matrix: Matrix, calibrations: Mapping[str, Calibration], destination: Path, command: str
) -> list[Path]:
    """Write the page of the same sweep under several settings; otherwise as :func:`write_fit`.

    Parameters
    ----------
    matrix : Matrix
        With its standings and its answer.
    calibrations : mapping of str to Calibration
        What was measured, by the label of the combination.
    """
    return _put(of_matrix(matrix, calibrations, command), destination)


def write_comparison(
    found: Between, a: Calibration, b: Calibration, destination: Path, command: str
) -> list[Path]:
    """Write the page of two machines; otherwise as :func:`write_fit`.

    Parameters
    ----------
    found : tare.calibration.mapping_document.Mapping
    a, b : Calibration
        That it maps.
    """
    return _put(of_two(found, a, b, command), destination)


def _put(page: Page, destination: Path) -> list[Path]:
    from tare.report import format_of, put

    return put(page, format_of(destination, OPTION), destination)


def of_fit(sweep: charts.Sweep, source: str, command: str) -> Page:
    """Lay the page of somebody else's sweep out."""
    found = sweep.scaling
    figure = _figure("sweep", "How the rate follows the CPU", charts.sweep_chart(sweep),
                     charts.tell_sweep(sweep))  # fmt: skip
    question = "Does the speed follow the CPU along one line?"
    return _page(
        name=f"sweep in {source}",
        question=question,
        answers=[found.sentence],
        strip=[
            ("values", f"{sum(step.n for step in sweep.steps):,}"),
            ("steps", f"{len(sweep.steps):,}"),
        ],
        sections=[
            _section("sweep", question, [found.sentence], [figure],
                     [tables.pieces(sweep), tables.line(sweep)])
        ],
        doubts=(),
        command=command,
    )  # fmt: skip


def of_matrix(matrix: Matrix, calibrations: Mapping[str, Calibration], command: str) -> Page:
    """Lay the page of several settings out."""
    answer = matrix.answer or "Nothing was measured yet."
    names = [row.label for row in matrix.standings if row.label in calibrations]
    sweeps = charts.sweeps_of({name: calibrations[name] for name in names}) if names else {}
    first = _section("settings", "Which settings are the fairest?", answer, [], [])
    sections = [first]
    if sweeps:
        over = _figure("settings", "The sweeps under all settings", charts.overlay(sweeps),
                       charts.tell_overlay(sweeps))  # fmt: skip
        each = _figure("each", "Each by itself", charts.multiples(sweeps),
                       charts.tell_multiples(sweeps))  # fmt: skip
        verdicts = [_of(name, sweeps[name].scaling.sentence) for name in names]
        sections = [
            _section("settings", "Which settings are the fairest?", answer, [over],
                     [tables.standings(matrix)]),
            _section("each", "How does the speed follow the CPU under each?",
                     verdicts, [each], []),
        ]  # fmt: skip
    measured = sum(one.state == "measured" for one in matrix.combinations)
    strip = [("combinations", f"{len(matrix.combinations)}"), ("measured", f"{measured}")]
    return _page(
        name="calibration under several settings",
        question="Which settings are the fairest, and what do they cost?",
        answers=[answer],
        strip=strip + (_strip(calibrations[names[0]]) if names else []),
        sections=sections,
        doubts=[IN_ORDER] * (len(matrix.standings) > 1)
        + [
            message("calibration.page.combination", setting=one.label, state=one.state, why=one.why)
            for one in matrix.combinations
            if one.state != "measured"
        ],
        command=command,
    )


def of_two(found: Between, a: Calibration, b: Calibration, command: str) -> Page:
    """Lay the page of two machines out."""
    chart = charts.mapping_chart(found)
    first, second = found.a.name, found.b.name
    figures = []
    if chart is not None:
        title = text(message("calibration.page.equal", second=second, first=first))
        figures = [_figure("mapping", title, chart.to_dict(),
                           charts.tell_mapping(found))]  # fmt: skip
    sweeps = charts.sweeps_of({found.a.name: a, found.b.name: b})
    both = [
        _figure("both", "Both sweeps on one axis", charts.overlay(sweeps),
                charts.tell_overlay(sweeps)),
        _figure("each", "Each by itself", charts.multiples(sweeps), charts.tell_multiples(sweeps)),
    ]  # fmt: skip
    verdicts = [_of(name, sweep.scaling.sentence) for name, sweep in sweeps.items()]
    question = text(message("calibration.page.question", second=second, first=first))
    return _page(
        name=text(message("calibration.page.both", first=first, second=second)),
        question=question,
        answers=[found.sentence],
        strip=[("workload", found.workload), *tables.sides(found)],
        sections=[
            _section("mapping", "Which CPU is as fast as which?", found.sentence, figures,
                     [tables.equals(found)]),
            _section("both", "How does each of them scale?", verdicts, both, []),
        ],
        doubts=(*found.caveats, *(_of(first, c) for c in a.caveats),
                *(_of(second, c) for c in b.caveats)),
        command=command,
    )  # fmt: skip


def _of(name: str, said: Said) -> Message:
    return message("calibration.page.of", name=name, said=said)


def _figure(name: str, title: str, chart: object, told: str) -> Figure:
    spec = chart if isinstance(chart, dict) else chart.to_dict()  # type: ignore[attr-defined]
    return Figure(name, title, spec, told)


def _section(
    anchor: str,
    question: str,
    answer: str | Sequence[Said],
    figures: Sequence[Figure],
    some: Sequence[Laid],
) -> Section:
    said = answer if isinstance(answer, str) else tuple(answer)
    finding = Finding(name=anchor, question=question, answer=said, verdict="none")
    return Section(anchor, finding, tuple(figures), tuple(some))


def _strip(found: Calibration) -> list[tuple[str, str]]:
    strip = [
        ("workload", found.workload),
        ("workers", f"{found.workers}"),
        ("measured on", found.platform),
        ("steps", f"{len(found.points)}"),
        ("period", f"{1000 * found.period_s:g} ms"),
    ]
    if found.measured:
        strip.insert(0, ("taken", found.measured.replace("T", " ")[:16] + " UTC"))
    if found.machine.cpu:
        strip.append(("machine", found.machine.cpu))
    return strip


def _page(
    *,
    name: str,
    question: str,
    answers: Sequence[Said],
    strip: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    doubts: Sequence[Said],
    command: str,
) -> Page:
    return Page(
        name=name,
        question=question,
        lead=None,
        headline=tuple(answers),
        strip=tuple(strip),
        sections=tuple(sections),
        overview=(),
        stops=None,
        doubts=tuple(doubts),
        machine=(),
        origin=Origin(
            file=None,
            commands=(command,),
            digests=(),
            versions=(tare.__version__,),
            seed=None,
            title="How to make this page again",
        ),
        doubtful="What weakens it",
        calm="Nothing was doubtful.",
        badges=False,
        unfolded=48,
    )
