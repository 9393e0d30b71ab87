"""Pages of calibrations that are no experiment: somebody's sweep, settings, two machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.experiment.sweep import messages
from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.document import Calibration, Fit
from tare.features.calibration import fairness
from tare.features.calibration import page_tables as tables
from tare.features.calibration.charts.across_machines import mapping_chart, tell_mapping
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import sweep_chart
from tare.features.calibration.charts.several import overlay, sweeps_of, tell_overlay
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.findings.tables import lines_table
from tare.features.calibration.mapping import Mapping as Between
from tare.features.calibration.matrix import Matrix
from tare.render.drawing import Chart
from tare.render.words import paragraph, text
from tare.results.finding import Finding, Table
from tare.results.message import Message, Said, message
from tare.results.report import Figure, Origin, Report, Section


def of_fit(fit: Fit, unit: str, source: str, command: str) -> Report:
    """Lay the page of somebody else's sweep out."""
    sweep = asked(fit, (1.0, unit))
    found, along = fit.asked, AXES[fit.axis].resource
    figure = _figure(
        "sweep", f"How the rate follows the {along}", sweep_chart(sweep), tell_sweep(sweep)
    )
    line = lines_table(
        "The published line" if fit.published else "One straight line, as CALIBRATE fits it",
        {"requested": found},
        1.0,
        sweep.unit,
        sweep.axis,
    )
    question = f"Does the speed follow the {along} along one line?"
    answer = messages.of_fit(fit, unit)
    shown = (line,) if fit.published else (tables.pieces(sweep), line)
    return _page(
        name=f"sweep in {source}",
        question=question,
        answers=[answer],
        strip=[
            ("workload", fit.workload),
            ("values", f"{found.line.n:,}" if sweep.steps else "unpublished"),
            *([("steps", f"{len(sweep.steps):,}")] if sweep.steps else []),
        ],
        sections=[_section("sweep", question, [answer], [figure], shown)],
        further=shown,
        doubts=(),
        command=command,
    )


def of_matrix(matrix: Matrix, calibrations: Mapping[str, Calibration], command: str) -> Report:
    """Lay the page of several settings out."""
    answer: Said = matrix.answer or fairness.answer(matrix)[0]
    names = [row.label for row in matrix.standings if row.label in calibrations]
    question = "Which settings are the fairest?"
    sections, shown = [], []
    if names:
        sweeps = sweeps_of({name: calibrations[name] for name in names})
        over = _figure(
            "settings", "The sweeps under all settings", overlay(sweeps), tell_overlay(sweeps)
        )
        verdicts = [_of(name, sweeps[name].scaling.sentence) for name in names]
        each, shown = "How does the speed follow the CPU under each?", [tables.standings(matrix)]
        sections = [
            _section("settings", question, answer, [over], shown),
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
        further=shown,
        doubts=[fairness.IN_ORDER] * (len(matrix.standings) > 1)
        + [
            message(
                "{setting}: {state}{% if why %}, {why}{% endif %}",
                setting=one.label,
                state=one.state,
                why=one.why,
            )
            for one in matrix.combinations
            if one.state != "measured"
        ],
        command=command,
    )


def of_two(found: Between, a: Calibration | Fit, b: Calibration | Fit, command: str) -> Report:
    """Lay the page of two machines out."""
    chart = mapping_chart(found)
    first, second = found.a.name, found.b.name
    between = {
        "first": first,
        "resource": AXES[found.a.axis].resource,
        "second": second,
        "second_resource": AXES[found.b.axis].resource,
    }
    figures = []
    if chart is not None:
        title = text(
            message(
                "{second_resource} on {second} with the speed of the {resource} on {first}",
                **between,
            )
        )
        figures = [_figure("mapping", title, chart, tell_mapping(found))]
    sweeps = sweeps_of({found.a.name: a, found.b.name: b})
    if a.axis == b.axis and a.steps and b.steps:
        both = [_figure("both", "Both sweeps on one axis", overlay(sweeps), tell_overlay(sweeps))]
    else:
        both = [
            _figure(f"sweep_{number}", name, sweep_chart(sweep), tell_sweep(sweep))
            for number, (name, sweep) in enumerate(sweeps.items())
        ]
    verdicts = [_of(name, sweep.scaling.sentence) for name, sweep in sweeps.items()]
    question = text(
        message(
            "How much {second_resource} on {second} is as fast as the {resource} on {first}?",
            **between,
        )
    )
    return _page(
        name=text(message("{first} and {second}", first=first, second=second)),
        question=question,
        answers=[found.sentence],
        strip=[("workload", found.workload),
               *((name, text(said)) for name, said in tables.sides(found))],
        sections=[
            _section("mapping", "What is as fast as what?", found.sentence, figures,
                     [tables.equals(found)]),
            _section("both", "How does each of them scale?", verdicts, both, []),
        ],
        further=tables.thinned(found),
        doubts=(*found.caveats, *(_of(name, caveat) for name, one in ((first, a), (second, b))
                                  if isinstance(one, Calibration) for caveat in one.caveats)),
        command=command,
    )  # fmt: skip


def _of(name: str, said: Said) -> Message:
    return message("{name}: {said}", name=name, said=said)


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
    further: Sequence[Table],
    doubts: Sequence[Said],
    command: str,
) -> Report:
    return Report(
        name=name,
        question=question,
        answers=tuple(answers),
        strip=tuple(strip),
        sections=tuple(sections),
        further=tuple(further),
        doubts=tuple(doubts),
        origin=Origin(commands=(command,), title="How to reproduce this page"),
        doubtful="What weakens it",
        calm="Nothing was doubtful.",
        badges=False,
        unfolded=48,
    )
