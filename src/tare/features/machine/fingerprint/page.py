"""The report of a fingerprint: what a machine can do, as text, curves and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tare.experiment.findings.level_names import fact
from tare.experiment.fingerprints.machine.document import Curve, Figure, Fingerprint
from tare.features.machine.fingerprint import page_figures as charts
from tare.features.machine.fingerprint import page_strides, summary
from tare.features.machine.fingerprint.page_groups import (
    LEADING,
    Group,
    caches,
    group_of,
    groups_of,
    ordered,
)
from tare.features.machine.fingerprint.picture import CURVE as STAIRCASE
from tare.features.machine.fingerprint.picture import staircase
from tare.features.machine.fingerprint.summary import ratio
from tare.features.machine.fingerprint.weights import Weights
from tare.registry import Probe
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Message, message
from tare.results.report import Entry, NextStep, Origin, Report, Section
from tare.results.report import Figure as Chart
from tare.units import duration, significant

#: Rows of a table of figures that is shown as a whole: it is what the page is there for.
_UNFOLDED = 48
#: Rows of a table that has room for reasons.
_MOST_WITH_REASONS = 12
#: Labels of entries whose content a page shows as charts.
_TERMINAL_ONLY = ("Memory", "Curves")
#: Probes that could not be measured which are named in a terminal.
_MOST_MISSING = 5


def make(
    fingerprint: Fingerprint,
    probes: Mapping[str, Probe],
    command: str,
    *,
    named: bool = False,
    paged: bool = True,
    next_step: NextStep | None = None,
) -> Report:
    """Make the report of a fingerprint.

    Parameters
    ----------
    fingerprint : Fingerprint
    probes : mapping
        Descriptions of the agent's probes by name.
    command : str
        To type for the same again.
    named : bool
        Whether probes were requested by name, so that each of their figures is in the table.
    paged : bool
        Whether to draw the curves and give the reasons of all figures, which a page has.
    next_step : NextStep or None
        What to type next; None: nothing.
    """
    metrics = ordered(fingerprint)
    if not named:
        metrics = {name: metrics[name] for name in LEADING if name in metrics} or metrics
    reasons = named and len(metrics) <= _MOST_WITH_REASONS
    return report_of(
        fingerprint,
        command,
        [(one.probe, one.why) for one in fingerprint.problems],
        name=message("fingerprint of {cpu}", cpu=str(fingerprint.facts.get("cpu", "a machine"))),
        question="What can this machine do?",
        entries=tuple(_entries(fingerprint)),
        next_steps=() if next_step is None else (next_step,),
        strip=strip(
            fingerprint,
            fingerprint.metrics.values(),
            ("figures", f"{len(fingerprint.metrics):,}"),
            ("curves", f"{len(fingerprint.curves):,}"),
            ("measured on", fingerprint.platform),
            ("kernel", str(fingerprint.facts.get("kernel", "unknown"))),
        ),
        further=(_table("Figures", metrics, reasons=reasons),) if metrics else (),
        sections=tuple(_sections(fingerprint, probes)) if paged else (),
        machine=(facts_table(fingerprint),) if fingerprint.facts else (),
        unfolded=_UNFOLDED,
    )


def report_of(
    found: Fingerprint | Weights,
    command: str,
    problems: Sequence[tuple[str, str]],
    *,
    name: Message,
    entries: tuple[Entry, ...],
    **parts: Any,
) -> Report:
    """Make a report of its own parts and of those that every fingerprint has.

    ``problems``: what could not be measured, and why.
    """
    return Report(
        tare=found.tare,
        command="fingerprint",
        # What scripts, and a comparison with a later one, read.
        figures={k: v for k, v in msgspec.structs.asdict(found).items() if k != "tare"},
        name=text(name),
        answers=tuple(one.said for one in entries if one.label not in _TERMINAL_ONLY),
        entries=(*entries, *_missing(problems)),
        doubts=tuple(_problem(one) for one in problems),
        origin=Origin(
            commands=(command,), digests=(("agent", found.agent),), versions=(found.tare,)
        ),
        doubtful="Not measured here",
        calm=sentence(message("everything requested was measured")),
        rest=f"{command} --json -",
        badges=False,
        **parts,
    )


def _entries(fingerprint: Fingerprint) -> Iterator[Entry]:
    yield Entry("Machine", summary.machine(fingerprint), "strong")
    said = (summary.clock(fingerprint), summary.predicted(fingerprint))
    for one in (*said, *summary.trust(fingerprint)):
        if one is not None:
            yield Entry("", one)
    if drawn := staircase(fingerprint):
        yield Entry(
            "Memory", message("time of a load, by the size of the memory it is from"), picture=drawn
        )
    if curves := [name for name in fingerprint.curves if name != STAIRCASE]:
        yield Entry(
            "Curves",
            message("{names | join(', ')}   (--report FILE.html shows them)", names=curves),
            "quiet",
        )


def _problem(one: tuple[str, str]) -> Message:
    return message("{probe}: {why}", probe=one[0], why=one[1])


def _missing(problems: Sequence[tuple[str, str]]) -> Iterator[Entry]:
    for one in problems[:_MOST_MISSING]:
        yield Entry("Missing", _problem(one))
    if len(problems) > _MOST_MISSING:
        more = message("{n} more (--json has all)", n=len(problems) - _MOST_MISSING)
        yield Entry("Missing", more)


def _sections(fingerprint: Fingerprint, probes: Mapping[str, Probe]) -> Iterator[Section]:
    """Yield the figures and curves by group."""
    drawn = charts.figures(fingerprint, probes)
    for group in groups_of([*fingerprint.metrics, *fingerprint.curves]):
        yield _section(group, fingerprint, probes, drawn.get(group.anchor, ()))


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
        _table("Every figure", metrics) if metrics else None,
        _by_cpu({n: fingerprint.curves[n] for n in curves}),
        *(page_strides.tables(fingerprint) if group.anchor == "memory" else ()),
        _meanings([*metrics, *curves], probes),
    )
    finding = Finding(
        name=group.anchor,
        question=group.question,
        answer=message(
            "{% if figures %}{figures | counted('figure')}{% if curves %}, {% endif %}"
            "{% endif %}{% if curves %}{curves | counted('curve')}{% endif %}{% if caches %}"
            ". Caches, by the curve: {caches | join(', ')}{% endif %}",
            figures=len(metrics),
            curves=len(curves),
            caches=caches(metrics),
        ),
        verdict="none",
        basis=text(message("median over rounds, 95 % interval")) if metrics else None,
        tables=tuple(filter(None, tables)),
    )
    return Section(finding, drawn)


def _table(title: str, metrics: Mapping[str, Figure], *, reasons: bool | None = None) -> Table:
    """Lay out figures with their predictions.

    Parameters
    ----------
    title : str
    metrics : mapping
        Figure by name.
    reasons : bool or None
        Whether the columns end with reasons; None: it has all columns that there are.
    """
    every = reasons is None
    columns = (
        Column(key="figure", title="figure"),
        Column(key="value [95 %]", title="value [95 %]"),
        *([Column(key="sd", title="SD over rounds")] if every else ()),
        Column(key="rounds", title="rounds" if every else "n"),
        *([Column(key="cycles", title="cycles", unit="1")] if every else ()),
        Column(key="predicted", title="predicted"),
        Column(key="relative", title="ratio"),
        *([Column(key="why", title="why")] if every or reasons else ()),
    )
    rows = tuple(
        {
            "figure": name,
            "value [95 %]": f.amount,
            "sd": None if f.sd is None else Amount(f.sd, f.unit),
            "rounds": f.n,
            "cycles": f.cycles,
            "predicted": None if f.predicted is None else Amount(f.predicted, f.unit),
            "relative": None if (r := ratio(f)) is None else f"× {significant(r)}",
            # Where there are many rows, a terminal shows those that differ most.
            "ratio": r,
            "why": f.why,
        }
        for name, f in metrics.items()
    )
    return Table(title=title, columns=columns, rows=rows)


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
    return Table.of(message("What each means"), ("figure", "meaning"), rows)


def facts_table(fingerprint: Fingerprint) -> Table:
    """List the facts of the machine."""
    rows = ((name, fact(name, v)) for name, v in sorted(fingerprint.facts.items()))
    return Table.of(message("Facts of the machine"), ("fact", "value"), rows)
