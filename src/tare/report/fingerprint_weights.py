"""The page of several platforms: the overhead of each vs. the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tare.findings.phrasing import fact
from tare.fingerprint import summary
from tare.fingerprint.document import Figure
from tare.fingerprint.weights import Cost, Weighed, Weights
from tare.render.tables import ABSENT, Head, Laid
from tare.render.words import paragraph, sentence, text
from tare.report.fingerprint_groups import interval_told
from tare.report.fingerprint_page import OPTION
from tare.report.fingerprint_primitives import (
    SHOWN,
    clocks_told,
    cost_of,
    cpu_told,
    drift_told,
    mark,
    ratio_told,
)
from tare.report.machine_charts.weights import Field, weights
from tare.report.origin import Origin
from tare.report.page import Figure as Chart
from tare.report.page import Page, Section
from tare.results.finding import Finding
from tare.results.message import message
from tare.units import duration, quantity, significant


def write(found: Weights, destination: Path, command: str) -> list[Path]:
    """Write the page: HTML, or Markdown with its chart beside it.

    Parameters
    ----------
    found : Weights
    destination : Path
        Its ending, ``.html`` or ``.md``, tells the format.
    command : str
        That measures the same again.

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
    return put(make(found, command), format, destination)


def make(found: Weights, command: str) -> Page:
    """Lay the page out."""
    first = found.platforms[0].platform
    problems = [
        message("fingerprint.platform.doubt", platform=one.platform, probe=p.probe, why=p.why)
        for one in found.platforms
        for p in one.problems
    ]
    problems += [
        message("fingerprint.platform.unknown", platform=one.platform, why=one.why)
        for one in found.platforms
        if one.why is not None
    ]
    return Page(
        name=text(
            message(
                "fingerprint.platform.name", platforms=[one.platform for one in found.platforms]
            )
        ),
        question="What is the overhead of each platform?",
        lead=None,
        headline=tuple(summary.versus(one, first) for one in found.platforms[1:]),
        strip=_strip(found),
        sections=(_costs(found), _starting(found), _holding(found)),
        overview=(),
        stops=None,
        doubts=tuple(problems),
        machine=_machine(found),
        origin=Origin(
            file=None, commands=(command,), digests=(("agent", found.agent),),
            versions=(found.tare,), seed=None,
        ),
        doubtful="Not measured here",
        calm=sentence(message("fingerprint.page.complete")),
        rest=f"{command} --json -",
        badges=False,
        unfolded=60,
    )  # fmt: skip


def _strip(found: Weights) -> tuple[tuple[str, str], ...]:
    first = found.platforms[0]
    strip = [
        ("taken", found.started.replace("T", " ").removesuffix("Z")[:16] + " UTC"),
        ("effort", found.effort),
        ("in", duration(found.seconds)),
        ("platforms", f"{len(found.platforms)}"),
        ("reference", first.platform),
    ]
    rounds = [
        f.n for one in found.platforms if one.fingerprint for f in one.fingerprint.metrics.values()
    ]
    if rounds:
        least, most = min(rounds), max(rounds)
        strip.append(("rounds", f"{least}" if least == most else f"{least} to {most}"))
    return tuple(strip)


def _costs(found: Weights) -> Section:
    first, *others = found.platforms
    measured = [one for one in others if one.costs]
    shown = [(label, m) for label, m in SHOWN if any(cost_of(one, m) for one in measured)]
    names = list(dict.fromkeys(c.metric for one in measured for c in one.costs))
    if not shown:
        shown = [("", name) for name in names]
    finding = Finding(
        name="costs",
        closed=False,
        question="How much slower is each primitive?",
        answer=(
            message("fingerprint.platform.costs", first=first.platform),
            message("fingerprint.platform.signs"),
        ),
        verdict="none",
        basis=text(message("fingerprint.platform.costs_basis")),
    )
    figures = (_chart(first, measured, shown),) if measured and shown else ()
    return Section("costs", finding, figures, (_table(first, measured, names),))


def _chart(first: Weighed, others: Sequence[Weighed], shown: Sequence[tuple[str, str]]) -> Chart:
    fields = []
    for _, metric in shown:
        for one in others:
            cost = cost_of(one, metric)
            if cost is not None:
                fields.append(
                    Field(
                        row=metric, platform=one.platform, ratio=cost.ratio,
                        told=_told(one, cost), interval=ratio_told(one, metric) or "",
                        sure=cost.verdict in ("costs", "saves"), cost=not one.emulated,
                    )
                )  # fmt: skip
    rows = [metric for _, metric in shown]
    chart: Any = weights(fields, rows, [one.platform for one in others])
    told = paragraph(summary.versus(one, first.platform) for one in others)
    return Chart("weights", f"Relative to {first.platform}", chart.to_dict(), told)


def _told(one: Weighed, cost: Cost) -> str:
    ratio = f"× {significant(cost.ratio)}"
    return f"({ratio})" if one.emulated else f"{ratio} {mark(cost)}"


def _table(first: Weighed, others: Sequence[Weighed], names: Sequence[str]) -> Laid:
    own = first.fingerprint.metrics if first.fingerprint is not None else {}
    rows = [
        (
            name,
            interval_told(own[name]) if name in own else ABSENT,
            *(ratio_told(one, name) or ABSENT for one in others),
        )
        for name in names
    ]
    heads = [Head("figure", "", numeric=False), Head(first.platform, "", numeric=True)]
    heads += [Head(f"{one.platform} [95 %]", "", numeric=True) for one in others]
    return Laid(title="Every figure", heads=tuple(heads), rows=tuple(rows))


def _starting(found: Weights) -> Section:
    rows = [
        (one.platform, *(_figure(getattr(one.starting, key)) for key in ("cold", "warm", "stop")))
        for one in found.platforms
        if one.starting is not None
    ]
    titles = ("first start", "later starts [95 %]", "tear-down [95 %]")
    finding = Finding(
        name="starting",
        closed=False,
        question="How long does it take to start and to end?",
        answer=(
            message("fingerprint.platform.starts"),
            message("fingerprint.platform.first_start"),
        ),
        verdict="none",
        basis=text(message("fingerprint.platform.starts_basis")),
    )
    heads = (Head("platform", "", numeric=False), *(Head(t, "", numeric=True) for t in titles))
    return Section(
        "starting", finding, (), (Laid(title="Starting", heads=heads, rows=tuple(rows)),)
    )


def _figure(one: Figure) -> str:
    return interval_told(one)


def _holding(found: Weights) -> Section:
    rows = []
    for one in found.platforms:
        held = one.holding
        memory = (None, None) if held is None else (
            held.around_memory_bytes, held.agent_memory_bytes
        )  # fmt: skip
        rows.append(
            (
                one.platform,
                *(ABSENT if m is None else quantity(m, "bytes") for m in memory),
                cpu_told(held) or ABSENT,
                clocks_told(one.clocks) or ABSENT,
                clocks_told(one.clocks, realtime=True) or ABSENT,
                drift_told(one.clocks) or ABSENT,
            )
        )
    titles = (
        "memory around the agent", "memory of the agent", "CPU around the agent",
        "monotonic, inside − host",
        "realtime, inside − host", "drift of the clock",
    )  # fmt: skip
    finding = Finding(
        name="holding",
        closed=False,
        question="What does it use on the host, and do the clocks agree?",
        answer=(message("fingerprint.platform.around"), message("fingerprint.platform.inside")),
        verdict="none",
        basis=text(message("fingerprint.platform.holding_basis")),
    )
    heads = (Head("platform", "", numeric=False), *(Head(t, "", numeric=True) for t in titles))
    return Section("holding", finding, (), (Laid(title="Host", heads=heads, rows=tuple(rows)),))


def _machine(found: Weights) -> tuple[Laid, ...]:
    first = found.platforms[0].fingerprint
    if first is None:
        return ()
    return (
        Laid(
            title="Facts of the machine",
            heads=(Head("fact", "", numeric=False), Head("value", "", numeric=False)),
            rows=tuple((name, fact(name, v)) for name, v in sorted(first.facts.items())),
        ),
    )
