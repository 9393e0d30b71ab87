"""The page of a fingerprint: what a machine can do, as text, curves and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

from tare.experiment.findings.level_names import fact
from tare.experiment.fingerprints.machine.document import Curve, Figure, Fingerprint
from tare.features.machine.fingerprint import page_figures as charts
from tare.features.machine.fingerprint import page_strides, phrases, summary
from tare.features.machine.fingerprint.page_groups import (
    Group,
    answer,
    group_of,
    groups_of,
    lead,
    ordered,
)
from tare.features.machine.fingerprint.summary import ratio
from tare.features.machine.fingerprint.weights import Weights
from tare.registry import Probe
from tare.render import words
from tare.render.charts.beside import Beside, beside
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Message, message
from tare.results.report import Figure as Chart
from tare.results.report import Origin, Report, Section
from tare.units import change, duration, quantity, significant

#: Rows of a table of figures that is shown as a whole: it is what the page is there for.
_UNFOLDED = 48
#: Rows of the chart of predictions; the tables have all.
_MOST_ROWS = 60


def make(fingerprint: Fingerprint, probes: Mapping[str, Probe], command: str) -> Report:
    """Lay the page of a fingerprint out."""
    drawn = charts.figures(fingerprint, probes)
    groups = groups_of([*fingerprint.metrics, *fingerprint.curves])
    sections = [_section(group, fingerprint, probes, drawn.get(group.anchor, ()))
                for group in groups]  # fmt: skip
    beside = _specification(fingerprint)
    return Report(
        name=text(
            message("fingerprint of {cpu}", cpu=str(fingerprint.facts.get("cpu", "a machine")))
        ),
        question=message("What can this machine do?"),
        answers=_headline(fingerprint),
        strip=strip(
            fingerprint,
            fingerprint.metrics.values(),
            ("figures", f"{len(fingerprint.metrics):,}"),
            ("curves", f"{len(fingerprint.curves):,}"),
            ("measured on", fingerprint.platform),
            ("kernel", str(fingerprint.facts.get("kernel", "unknown"))),
        ),
        sections=(*([beside] if beside else []), *sections),
        doubts=tuple(
            message("{probe}: {why}", probe=p.probe, why=p.why) for p in fingerprint.problems
        ),
        machine=(facts_table(fingerprint),) if fingerprint.facts else (),
        origin=Origin(
            commands=(command,),
            digests=(("agent", fingerprint.agent),),
            versions=(fingerprint.tare,),
        ),
        doubtful="Not measured here",
        calm=sentence(message(phrases.PAGE_COMPLETE)),
        rest=f"{command} --json -",
        badges=False,
        unfolded=_UNFOLDED,
    )


def _headline(fingerprint: Fingerprint) -> tuple[Message, ...]:
    first, clock = lead(fingerprint.metrics), summary.clock(fingerprint)
    return (
        *([first] if first else []),
        summary.machine(fingerprint),
        *([clock] if clock else []),
        *summary.trust(fingerprint),
    )


def strip(
    found: Fingerprint | Weights, figures: Iterable[Figure], *more: tuple[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return when and how long it was measured, what else is to be known, and the rounds."""
    known = [
        ("taken", found.started.replace("T", " ").removesuffix("Z")[:16] + " UTC"),
        ("effort", found.effort),
        ("in", duration(found.seconds)),
        *more,
    ]
    if rounds := sorted({figure.n for figure in figures}):
        known.append(("rounds", " to ".join(map(str, dict.fromkeys([rounds[0], rounds[-1]])))))
    return tuple(known)


def _specification(fingerprint: Fingerprint) -> Section | None:
    """Compare with the hardware's specification, where it says anything."""
    figures = _predictions(fingerprint)
    near = summary.predicted(fingerprint)
    if not figures or near is None:
        return None
    finding = Finding(
        name="specification",
        closed=False,
        question=message("How far is it from its specification?"),
        answer=near,
        verdict="none",
        basis=text(message("reasons for differences, where known, are in the tables below")),
    )
    return Section(finding, figures)


def _predictions(fingerprint: Fingerprint) -> tuple[Chart, ...]:
    """Draw every figure relative to its prediction."""
    known = {n: (f, r) for n, f in ordered(fingerprint).items() if (r := ratio(f)) is not None}
    if not known:
        return ()
    shown = dict(list(known.items())[:_MOST_ROWS])
    rows = [
        Beside(
            name=name,
            ratio=r,
            low=None if f.ci is None or f.ci[0] <= 0 else f.ci[0] / (f.predicted or 1.0),
            high=None if f.ci is None or f.ci[0] <= 0 else f.ci[1] / (f.predicted or 1.0),
            measured=words.shown(f.amount),
            predicted=quantity(f.predicted, f.unit),
        )
        for name, (f, r) in shown.items()
    ]
    far = sorted(known.items(), key=lambda one: -abs(log(one[1][1])))[:3]
    told = message(
        "each figure relative to its prediction, with its interval. Circles in the band: "
        "within 25 %. Triangles: beyond it. Furthest: {far | listing}{% if more %}. {more} "
        "more are in the tables{% endif %}",
        far=[message("{metric} {ratio}", metric=n, ratio=change(r)) for n, (_, r) in far],
        more=len(known) - len(shown),
    )
    chart: Any = beside(rows)
    return (Chart("predictions", "Measured vs. predicted", chart, sentence(told)),)


def _section(
    group: Group,
    fingerprint: Fingerprint,
    probes: Mapping[str, Probe],
    drawn: tuple[Chart, ...],
) -> Section:
    metrics = {n: f for n, f in ordered(fingerprint).items() if group_of(n) == group}
    curves = [n for n in fingerprint.curves if group_of(n) == group]
    tables = (
        _table(metrics) if metrics else None,
        _by_cpu({n: fingerprint.curves[n] for n in curves}),
        *(page_strides.tables(fingerprint) if group.anchor == "memory" else ()),
        _meanings([*metrics, *curves], probes),
    )
    finding = Finding(
        name=group.anchor,
        question=group.question,
        answer=answer(group, metrics, len(curves)),
        verdict="none",
        basis=text(message("median over rounds, 95 % interval")) if metrics else None,
        tables=tuple(filter(None, tables)),
    )
    return Section(finding, drawn)


def _table(metrics: Mapping[str, Figure]) -> Table:
    """Every figure, with what it was expected to be and why it is not."""
    rows = (
        (
            name,
            f.amount,
            None if f.sd is None else Amount(f.sd, f.unit),
            f.n,
            f.cycles,
            None if f.predicted is None else Amount(f.predicted, f.unit),
            None if (r := ratio(f)) is None else f"× {significant(r)}",
            f.why,
        )
        for name, f in metrics.items()
    )
    of_prediction = Column(key="ratio", title="ratio", unit="1")
    deviation = Column(key="sd", title="SD over rounds")
    counted = Column(key="cycles", title="cycles", unit="1")
    return Table.of(
        "Every figure",
        ("figure", "value [95 %]", deviation, "rounds", counted, "predicted", of_prediction, "why"),
        rows,
    )


def _by_cpu(curves: Mapping[str, Curve]) -> Table | None:
    """Lay out each CPU with what was measured of it alone."""
    some = {name: curve for name, curve in curves.items() if charts.is_by_cpu(curve)}
    if not some:
        return None
    rows: dict[int, dict[str, float]] = {}
    for name, curve in some.items():
        for point in curve.points:
            rows.setdefault(point.at[0], {})[name] = point.value
    return Table(
        title=message("By CPU"),
        columns=(
            Column(key="cpu", title="CPU"),
            *(Column(key=name, title=name, unit=curve.unit) for name, curve in some.items()),
        ),
        rows=tuple({"cpu": cpu, **rows[cpu]} for cpu in sorted(rows)),
    )


def _meanings(names: list[str], probes: Mapping[str, Probe]) -> Table | None:
    """List what each figure means, as its probe says."""
    rows = []
    for probe in probes.values():
        for metric in probe.metrics:
            if any(name == metric.name or name.startswith(f"{metric.name}.") for name in names):
                rows.append((metric.name, metric.meaning))
    if not rows:
        return None
    return Table.of("What each means", ("figure", "meaning"), rows)


def facts_table(fingerprint: Fingerprint) -> Table:
    """List the facts of the machine."""
    rows = ((name, fact(name, v)) for name, v in sorted(fingerprint.facts.items()))
    return Table.of("Facts of the machine", ("fact", "value"), rows)
