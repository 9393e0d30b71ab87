"""The page of several platforms: what each weighs beside the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tare.findings.phrasing import fact
from tare.fingerprint.document import Figure
from tare.fingerprint.weights import Cost, Weighed, Weights
from tare.render.tables import ABSENT, Head, Laid
from tare.render.words import listing
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
from tare.units import counted, duration, quantity, significant

_MOST_NAMED = 4


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
        f"{one.platform}, {p.probe}: {p.why}." for one in found.platforms for p in one.problems
    ]
    problems += [f"{one.platform}: {one.why}." for one in found.platforms if one.why is not None]
    return Page(
        name=f"weight of {listing(one.platform for one in found.platforms)}",
        question="What does each platform weigh?",
        lead=None,
        headline=tuple(_headline(one, first) for one in found.platforms[1:]),
        strip=_strip(found),
        sections=(_costs(found), _starting(found), _holding(found)),
        overview=(),
        stops=None,
        doubts=tuple(text.replace("..", ".") for text in problems),
        machine=_machine(found),
        origin=Origin(
            file=None, commands=(command,), digests=(("agent", found.agent),),
            versions=(found.tare,), seed=None,
        ),
        doubtful="Not measured here",
        calm="Everything that was asked could be measured.",
        rest=f"{command} --json -",
        badges=False,
        unfolded=60,
    )  # fmt: skip


def _headline(one: Weighed, first: str) -> str:
    if one.emulated:
        return (
            f"{one.platform} is emulated here: its instructions are translated, not executed, so "
            "that nothing of its times is a cost of the platform."
        )
    if not one.costs:
        return f"{one.platform} could not be measured."
    dear = sorted((c for c in one.costs if c.verdict == "costs"), key=lambda c: -c.ratio)
    same = sum(c.verdict == "same" for c in one.costs)
    text = f"On {one.platform}, {same} of {counted(len(one.costs), 'figure')} are surely the same"
    if not dear:
        return f"{text} as on {first}, and none is surely dearer."
    named = [f"{c.metric} × {significant(c.ratio)}" for c in dear[:_MOST_NAMED]]
    more = [f"{len(dear) - len(named)} more"] if len(dear) > len(named) else []
    return f"{text} as on {first}; surely dearer: {listing([*named, *more])}."


def _strip(found: Weights) -> tuple[tuple[str, str], ...]:
    first = found.platforms[0]
    strip = [
        ("taken", found.started.replace("T", " ").removesuffix("Z")[:16] + " UTC"),
        ("effort", found.effort),
        ("in", duration(found.seconds)),
        ("platforms", f"{len(found.platforms)}"),
        ("beside", first.platform),
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
        question="What does each layer cost per primitive?",
        answer=f"Each figure as a multiple of that on {first.platform}: above one it is dearer, "
        "whether it takes longer or brings less. ▲ surely dearer by more than matters, ▽ surely "
        "cheaper, = the same, ? inconclusive; in brackets: emulated, no cost.",
        verdict="none",
        basis="rounds of all platforms in one random order; Hodges–Lehmann ratio with its 95 % "
        "interval, Holm over all figures and platforms",
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
    told = "; ".join(_headline(one, first.platform).removesuffix(".") for one in others)
    return Chart("weights", f"Beside {first.platform}", chart.to_dict(), f"{told}.")


def _told(one: Weighed, cost: Cost) -> str:
    text = f"× {significant(cost.ratio)}"
    return f"({text})" if one.emulated else f"{text} {mark(cost)}"


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
        answer="From asking for an instance to the agent's hello, and from closing it to its end. "
        "The first start may have had to load what the later ones found in memory.",
        verdict="none",
        basis="medians; later starts in random order over platforms",
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
        question="What does it take of the host, and do its clocks agree?",
        answer="Around the agent is what the layers started for the instance, not the engines that "
        "are there without it; where the host does not see the agent, it is in it.",
        verdict="none",
        basis="proportional memory (PSS) of the processes after the rounds; CPU time over the "
        "rounds; the quickest of many exchanges with the agent",
    )
    heads = (Head("platform", "", numeric=False), *(Head(t, "", numeric=True) for t in titles))
    return Section("holding", finding, (), (Laid(title="Host", heads=heads, rows=tuple(rows)),))


def _machine(found: Weights) -> tuple[Laid, ...]:
    first = found.platforms[0].fingerprint
    if first is None:
        return ()
    return (
        Laid(
            title="What the machine says of itself",
            heads=(Head("fact", "", numeric=False), Head("value", "", numeric=False)),
            rows=tuple((name, fact(name, v)) for name, v in sorted(first.facts.items())),
        ),
    )
