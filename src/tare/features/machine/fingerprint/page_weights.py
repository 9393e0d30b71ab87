"""The page of several platforms: the overhead of each vs. the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.page import facts_table
from tare.features.machine.fingerprint.page_primitives import (
    SHOWN,
    clocks_told,
    cost_of,
    cpu_told,
    drift_told,
    mark,
    ratio_told,
)
from tare.features.machine.fingerprint.weights import Cost, Holding, Weighed, Weights
from tare.features.machine.fingerprint.weights_chart import Field, weights
from tare.render.words import paragraph, sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, message
from tare.results.report import Figure as Chart
from tare.results.report import Origin, Report, Section
from tare.units import duration, significant


def make(found: Weights, command: str) -> Report:
    """Lay the page out."""
    first, own = found.platforms[0].platform, found.platforms[0].fingerprint
    besides = [summary.apart(one, found.platforms[0]) for one in found.platforms[1:]]
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
    return Report(
        name=text(
            message(
                "fingerprint.platform.name", platforms=[one.platform for one in found.platforms]
            )
        ),
        question="What is the overhead of each platform?",
        answers=(
            *(summary.versus(one, first) for one in found.platforms[1:]),
            *(said for said in besides if said is not None),
        ),
        strip=_strip(found),
        sections=(_costs(found), _starting(found), _holding(found)),
        doubts=tuple(problems),
        machine=() if own is None else (facts_table(own),),
        origin=Origin(
            commands=(command,), digests=(("agent", found.agent),), versions=(found.tare,)
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
        tables=(_table(first, measured, names),),
    )
    figures = (_chart(first, measured, shown),) if measured and shown else ()
    return Section(finding, figures)


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


def _table(first: Weighed, others: Sequence[Weighed], names: Sequence[str]) -> Table:
    own = first.fingerprint.metrics if first.fingerprint is not None else {}
    rows = (
        (
            name,
            own[name].amount if name in own else None,
            *(ratio_told(one, name) for one in others),
        )
        for name in names
    )
    ratios = (Column(key=one.platform, title=f"{one.platform} [95 %]", unit="1") for one in others)
    return Table.of("Every figure", ("figure", first.platform, *ratios), rows)


def _starting(found: Weights) -> Section:
    rows = (
        (one.platform, *(getattr(one.starting, key).amount for key in ("cold", "warm", "stop")))
        for one in found.platforms
        if one.starting is not None
    )
    heads = ("platform", "first start", "later starts [95 %]", "tear-down [95 %]")
    return Section(
        Finding(
            name="starting",
            closed=False,
            question="How long does it take to start and to end?",
            answer=(
                message("fingerprint.platform.starts"),
                message("fingerprint.platform.first_start"),
            ),
            verdict="none",
            basis=text(message("fingerprint.platform.starts_basis")),
            tables=(Table.of("Starting", heads, rows),),
        )
    )


def _holding(found: Weights) -> Section:
    rows = (
        (
            one.platform,
            *(None if m is None else Amount(m, "bytes") for m in _memory(one.holding)),
            cpu_told(one.holding),
            clocks_told(one.clocks),
            clocks_told(one.clocks, realtime=True),
            drift_told(one.clocks),
        )
        for one in found.platforms
    )
    numeric = (
        "CPU around the agent", "monotonic, inside − host", "realtime, inside − host",
        "drift of the clock",
    )  # fmt: skip
    heads: tuple[str | Column, ...] = (
        "platform", "memory around the agent", "memory of the agent",
        *(Column(key=title, title=title, unit="1") for title in numeric),
    )  # fmt: skip
    return Section(
        Finding(
            name="holding",
            closed=False,
            question="What does it use on the host, and do the clocks agree?",
            answer=(message("fingerprint.platform.around"), message("fingerprint.platform.inside")),
            verdict="none",
            basis=text(message("fingerprint.platform.holding_basis")),
            tables=(Table.of("Host", heads, rows),),
        )
    )


def _memory(held: Holding | None) -> tuple[float | None, float | None]:
    return (None, None) if held is None else (held.around_memory_bytes, held.agent_memory_bytes)
