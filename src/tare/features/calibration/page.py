"""Pages of calibrations that are no experiment: somebody's sweep, settings, two machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tare
from tare.experiment.sweep import messages
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import page_tables as tables
from tare.features.calibration.charts.across_machines import mapping_chart, tell_mapping
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import sweep_chart
from tare.features.calibration.charts.several import overlay, sweeps_of, tell_overlay
from tare.features.calibration.charts.sweep import Sweep
from tare.features.calibration.fairness import IN_ORDER
from tare.features.calibration.findings.tables import lines_table
from tare.features.calibration.mapping import Mapping as Between
from tare.features.calibration.matrix import Matrix
from tare.render.drawing import Chart
from tare.render.words import paragraph, text
from tare.results.finding import Finding, Table
from tare.results.message import Message, Said, message
from tare.results.report import Figure, Origin, Report, Section


def of_fit(sweep: Sweep, source: str, command: str) -> Report:
    """Lay the page of somebody else's sweep out."""
    found = sweep.scaling
    figure = _figure("sweep", "How the rate follows the CPU", sweep_chart(sweep), tell_sweep(sweep))
    line = lines_table(
        "One straight line, as CALIBRATE fits it", {"requested": found}, 1.0, sweep.unit
    )
    question = "Does the speed follow the CPU along one line?"
    answer = messages.of_fit(found, sweep.unit)
    return _page(
        name=f"sweep in {source}",
        question=question,
        answers=[answer],
        strip=[
            ("values", f"{sum(step.n for step in sweep.steps):,}"),
            ("steps", f"{len(sweep.steps):,}"),
        ],
        sections=[
            _section("sweep", question, [answer], [figure], [tables.pieces(sweep), line])
        ],
        doubts=(),
        command=command,
    )  # fmt: skip


def of_matrix(matrix: Matrix, calibrations: Mapping[str, Calibration], command: str) -> Report:
    """Lay the page of several settings out."""
    answer: Said = matrix.answer or message("calibration.settings.none")
    names = [row.label for row in matrix.standings if row.label in calibrations]
    question = "Which settings are the fairest?"
    sections = [_section("settings", question, answer, [], [])]
    if names:
        sweeps = sweeps_of({name: calibrations[name] for name in names})
        over = _figure(
            "settings", "The sweeps under all settings", overlay(sweeps), tell_overlay(sweeps)
        )
        verdicts = [_of(name, sweeps[name].scaling.sentence) for name in names]
        each = "How does the speed follow the CPU under each?"
        sections = [
            _section("settings", question, answer, [over], [tables.standings(matrix)]),
            _section("each", each, verdicts, [], []),
        ]
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


def of_two(found: Between, a: Calibration, b: Calibration, command: str) -> Report:
    """Lay the page of two machines out."""
    chart = mapping_chart(found)
    first, second = found.a.name, found.b.name
    figures = []
    if chart is not None:
        title = text(message("calibration.page.equal", second=second, first=first))
        figures = [_figure("mapping", title, chart, tell_mapping(found))]
    sweeps = sweeps_of({found.a.name: a, found.b.name: b})
    both = _figure("both", "Both sweeps on one axis", overlay(sweeps), tell_overlay(sweeps))
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
            _section("both", "How does each of them scale?", verdicts, [both], []),
        ],
        doubts=(*found.caveats, *(_of(first, c) for c in a.caveats),
                *(_of(second, c) for c in b.caveats)),
        command=command,
    )  # fmt: skip


def _of(name: str, said: Said) -> Message:
    return message("calibration.page.of", name=name, said=said)


def _figure(name: str, title: str, chart: Chart, told: Message | tuple[Message, ...]) -> Figure:
    return Figure(name, title, chart, paragraph(told))


def _section(
    anchor: str,
    question: str,
    answer: Said | Sequence[Said],
    figures: Sequence[Figure],
    some: Sequence[Table],
) -> Section:
    said = answer if isinstance(answer, str | Message) else tuple(answer)
    finding = Finding(
        name=anchor, question=question, answer=said, verdict="none", tables=tuple(some)
    )
    return Section(finding, tuple(figures))


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
) -> Report:
    return Report(
        name=name,
        question=question,
        answers=tuple(answers),
        strip=tuple(strip),
        sections=tuple(sections),
        doubts=tuple(doubts),
        origin=Origin(
            commands=(command,), versions=(tare.__version__,), title="How to reproduce this page"
        ),
        doubtful="What weakens it",
        calm="Nothing was doubtful.",
        badges=False,
        unfolded=48,
    )
