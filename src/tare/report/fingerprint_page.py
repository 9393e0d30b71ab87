"""The page of a fingerprint: what a machine can do, as text, curves and tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tare.findings.phrasing import fact
from tare.fingerprint import summary
from tare.fingerprint.document import Curve, Figure, Fingerprint
from tare.fingerprint.summary import ratio
from tare.registry import Probe
from tare.render.tables import ABSENT, Head, Laid, lay
from tare.render.words import sentence, text
from tare.report import fingerprint_beside
from tare.report import fingerprint_figures as charts
from tare.report.fingerprint_groups import (
    Group,
    answer,
    group_of,
    groups_of,
    interval_told,
    ordered,
)
from tare.report.origin import Origin
from tare.report.page import Figure as Chart
from tare.report.page import Page, Section
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message, message
from tare.units import duration, quantity, significant

#: Rows of a table of figures that is shown as a whole: it is what the page is there for.
_UNFOLDED = 48
#: With which the page is asked for.
OPTION = "--report machine.html"


def write(
    fingerprint: Fingerprint, probes: Mapping[str, Probe], destination: Path, command: str
) -> list[Path]:
    """Write the page of a fingerprint: HTML, or Markdown with its charts beside it.

    Parameters
    ----------
    fingerprint : Fingerprint
        Of any subset of the probes.
    probes : mapping of str to Probe
        What the probes say of themselves, by name: the catalogue's.
    destination : Path
        Its ending, ``.html`` or ``.md``, tells the format.
    command : str
        That takes the same fingerprint again.

    Returns
    -------
    list of Path
        What was written, the page itself first.

    Raises
    ------
    StoreError
        If the ending is another, or the page cannot be written.
    """
    from tare.report import format_of, put

    format = format_of(destination, OPTION)
    return put(make(fingerprint, probes, command), format, destination)


def make(fingerprint: Fingerprint, probes: Mapping[str, Probe], command: str) -> Page:
    """Lay the page of a fingerprint out."""
    drawn = charts.figures(fingerprint, probes)
    groups = groups_of([*fingerprint.metrics, *fingerprint.curves])
    sections = [_section(group, fingerprint, probes, drawn.get(group.anchor, ()))
                for group in groups]  # fmt: skip
    beside = fingerprint_beside.section(fingerprint)
    return Page(
        name=text(
            message("fingerprint.page.name", cpu=str(fingerprint.facts.get("cpu", "a machine")))
        ),
        question="What can this machine do?",
        lead=None,
        headline=_headline(fingerprint),
        strip=_strip(fingerprint),
        sections=(*([beside] if beside else []), *sections),
        overview=(),
        stops=None,
        doubts=tuple(
            message("fingerprint.page.doubt", probe=p.probe, why=p.why)
            for p in fingerprint.problems
        ),
        machine=(_facts(fingerprint),) if fingerprint.facts else (),
        origin=Origin(
            file=None,
            commands=(command,),
            digests=(("agent", fingerprint.agent),),
            versions=(fingerprint.tare,),
            seed=None,
        ),
        doubtful="Not measured here",
        calm=sentence(message("fingerprint.page.complete")),
        rest=f"{command} --json -",
        badges=False,
        unfolded=_UNFOLDED,
    )


def _headline(fingerprint: Fingerprint) -> tuple[Message, ...]:
    clock = summary.clock(fingerprint)
    return (
        summary.machine(fingerprint),
        *([clock] if clock else []),
        *summary.trust(fingerprint),
    )


def _strip(fingerprint: Fingerprint) -> tuple[tuple[str, str], ...]:
    strip = [
        ("taken", fingerprint.started.replace("T", " ").removesuffix("Z")[:16] + " UTC"),
        ("effort", fingerprint.effort),
        ("in", duration(fingerprint.seconds)),
        ("figures", f"{len(fingerprint.metrics):,}"),
        ("curves", f"{len(fingerprint.curves):,}"),
        ("measured on", fingerprint.platform),
    ]
    rounds = [f.n for f in fingerprint.metrics.values()]
    if rounds:
        least, most = min(rounds), max(rounds)
        strip.append(("rounds", f"{least}" if least == most else f"{least} to {most}"))
    if kernel := fingerprint.facts.get("kernel"):
        strip.append(("kernel", str(kernel)))
    return tuple(strip)


def _section(
    group: Group,
    fingerprint: Fingerprint,
    probes: Mapping[str, Probe],
    drawn: tuple[Chart, ...],
) -> Section:
    metrics = {n: f for n, f in ordered(fingerprint).items() if group_of(n) == group}
    curves = [n for n in fingerprint.curves if group_of(n) == group]
    finding = Finding(
        name=group.anchor,
        question=group.question,
        answer=answer(group, metrics, len(curves)),
        verdict="none",
        basis=text(message("fingerprint.page.basis")) if metrics else None,
    )
    tables = []
    if metrics:
        tables.append(_table(metrics))
    by_cpu = _by_cpu({n: fingerprint.curves[n] for n in curves})
    if by_cpu:
        tables.append(by_cpu)
    meanings = _meanings([*metrics, *curves], probes)
    if meanings:
        tables.append(meanings)
    return Section(group.anchor, finding, drawn, tuple(tables))


def _table(metrics: Mapping[str, Figure]) -> Laid:
    """Every figure, with what it was expected to be and why it is not."""
    rows = [
        (
            name,
            interval_told(f),
            f"{f.n}",
            ABSENT if f.predicted is None else quantity(f.predicted, f.unit),
            ABSENT if (r := ratio(f)) is None else f"× {significant(r)}",
            f.why or ABSENT,
        )
        for name, f in metrics.items()
    ]
    titles = ("figure", "value [95 %]", "rounds", "predicted", "ratio", "why")
    numeric = (False, True, True, True, True, False)
    kept = [i for i in range(len(titles)) if any(row[i] != ABSENT for row in rows)]
    return Laid(
        title="Every figure",
        heads=tuple(Head(titles[i], "", numeric=numeric[i]) for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
    )


def _by_cpu(curves: Mapping[str, Curve]) -> Laid | None:
    """Lay out each CPU with what was measured of it alone."""
    some = {name: curve for name, curve in curves.items() if charts.is_by_cpu(curve)}
    if not some:
        return None
    rows: dict[int, dict[str, float]] = {}
    for name, curve in some.items():
        for point in curve.points:
            rows.setdefault(point.at[0], {})[name] = point.value
    return lay(
        Table(
            title="By CPU",
            columns=(
                Column(key="cpu", title="CPU"),
                *(Column(key=name, title=name, unit=curve.unit) for name, curve in some.items()),
            ),
            rows=tuple({"cpu": cpu, **rows[cpu]} for cpu in sorted(rows)),
        )
    )


def _meanings(names: list[str], probes: Mapping[str, Probe]) -> Laid | None:
    """List what each figure means, as its probe says."""
    rows = []
    for probe in probes.values():
        for metric in probe.metrics:
            if any(name == metric.name or name.startswith(f"{metric.name}.") for name in names):
                rows.append((metric.name, metric.meaning))
    if not rows:
        return None
    return Laid(
        title="What each means",
        heads=(Head("figure", "", numeric=False), Head("meaning", "", numeric=False)),
        rows=tuple(rows),
    )


def _facts(fingerprint: Fingerprint) -> Laid:
    return Laid(
        title="Facts of the machine",
        heads=(Head("fact", "", numeric=False), Head("value", "", numeric=False)),
        rows=tuple((name, fact(name, v)) for name, v in sorted(fingerprint.facts.items())),
    )
