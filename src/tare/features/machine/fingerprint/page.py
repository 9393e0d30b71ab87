"""The page of a fingerprint: what a machine can do, as text, curves and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tare.experiment.findings.level_names import fact
from tare.experiment.fingerprints.machine.document import Curve, Figure, Fingerprint
from tare.features.machine.fingerprint import page_compared, summary
from tare.features.machine.fingerprint import page_figures as charts
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
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Message, message
from tare.results.report import Figure as Chart
from tare.results.report import Origin, Report, Section
from tare.units import duration, significant

#: Rows of a table of figures that is shown as a whole: it is what the page is there for.
_UNFOLDED = 48


def make(fingerprint: Fingerprint, probes: Mapping[str, Probe], command: str) -> Report:
    """Lay the page of a fingerprint out."""
    drawn = charts.figures(fingerprint, probes)
    groups = groups_of([*fingerprint.metrics, *fingerprint.curves])
    sections = [_section(group, fingerprint, probes, drawn.get(group.anchor, ()))
                for group in groups]  # fmt: skip
    beside = page_compared.section(fingerprint)
    return Report(
        name=text(
            message("fingerprint.page.name", cpu=str(fingerprint.facts.get("cpu", "a machine")))
        ),
        question="What can this machine do?",
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
            message("fingerprint.page.doubt", probe=p.probe, why=p.why)
            for p in fingerprint.problems
        ),
        machine=(facts_table(fingerprint),) if fingerprint.facts else (),
        origin=Origin(
            commands=(command,),
            digests=(("agent", fingerprint.agent),),
            versions=(fingerprint.tare,),
        ),
        doubtful="Not measured here",
        calm=sentence(message("fingerprint.page.complete")),
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
        _meanings([*metrics, *curves], probes),
    )
    finding = Finding(
        name=group.anchor,
        question=group.question,
        answer=answer(group, metrics, len(curves)),
        verdict="none",
        basis=text(message("fingerprint.page.basis")) if metrics else None,
        tables=tuple(filter(None, tables)),
    )
    return Section(finding, drawn)


def _table(metrics: Mapping[str, Figure]) -> Table:
    """Every figure, with what it was expected to be and why it is not."""
    rows = (
        (
            name,
            f.amount,
            f.n,
            None if f.predicted is None else Amount(f.predicted, f.unit),
            None if (r := ratio(f)) is None else f"× {significant(r)}",
            f.why,
        )
        for name, f in metrics.items()
    )
    of_prediction = Column(key="ratio", title="ratio", unit="1")
    return Table.of(
        "Every figure",
        ("figure", "value [95 %]", "rounds", "predicted", of_prediction, "why"),
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
        title="By CPU",
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
