"""What ``tare net measure`` prints at its end: tables, the limit, what cannot be concluded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare import units
from tare.cli import console
from tare.features.network.measure.caveats import blamed
from tare.features.network.measure.summary import PERCENTILES, Latency, Summary
from tare.networks.recording.folder import Measured
from tare.render.tables import ABSENT
from tare.render.terminal import Row
from tare.render.words import sentences
from tare.results.message import Message
from tare.units import percent, quantity, significant

#: Facts of an end that decide what was measured, as they are told.
_FACTS = {
    "congestion": "congestion control",
    "mtu": "MTU",
    "tso": "TSO",
    "gro": "GRO",
    "qdisc": "qdisc",
}


def show(measured: Measured, some: Sequence[Summary], caveats: Sequence[Message]) -> None:
    """Print a measurement for a person."""
    out = console.out
    first = blamed(some)
    out.print(_headline(measured, some), style="bold", soft_wrap=True)
    for line in sentences(first):
        out.print(f"Note    {line}", style="bold yellow", soft_wrap=True)
    if some:
        for title, rows in (_bandwidth(some), _latency(some)):
            out.print()
            out.print(title)
            console.table(rows)
    facts = ends(measured)
    if facts:
        out.print()
    for line in facts:
        out.print(line, soft_wrap=True)
    others = [one for one in caveats if one not in first]
    if others:
        out.print()
    for line in sentences(others):
        out.print(f"Note    {line}", style="yellow", soft_wrap=True)
    out.print()


def ends(measured: Measured) -> list[str]:
    """Return what both ends are like, a line each, or one where they are alike."""
    told = {where: _told(facts) for where, facts in measured.facts.items()}
    if told["here"] == told["there"]:
        return [f"Ends    {told['here']}"] if told["here"] else []
    return [f"{where.capitalize():<8}{line}" for where, line in told.items() if line]


def _told(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {facts[key]}" for key, name in _FACTS.items() if key in facts)


def _headline(measured: Measured, some: Sequence[Summary]) -> str:
    asked = measured.asked
    sent = sum(one.sent_bytes for one in some)
    streams = f"{asked.streams} stream{'s' * (asked.streams > 1)}"
    first = f"{quantity(some[0].bandwidth_bps['p50'], 'bits/s')} median" if len(some) == 1 else ""
    parts = [asked.host, first, streams, console.seconds(measured.end_s),
             f"{quantity(8 * sent, 'bits')} in all"]  # fmt: skip
    return "Network  " + " · ".join(part for part in parts if part)


def _names(some: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    """Return the columns that tell rows apart."""
    columns: dict[str, Callable[[Summary], str]] = {}
    if len({one.pattern for one in some}) > 1:
        columns["pattern"] = lambda one: one.pattern
    if len({one.write_bytes for one in some}) > 1:
        columns["write"] = lambda one: units.amount("bytes", one.write_bytes)
    if len({one.direction for one in some}) > 1:
        columns["to"] = lambda one: "there" if one.direction == "out" else "here"
    return columns or {"pattern": lambda one: one.pattern}


def _bandwidth(some: Sequence[Summary]) -> tuple[str, list[Row]]:
    scale, unit = units.scale_for([one.bandwidth_bps["p50"] for one in some], "bits/s")
    columns = _names(some)
    for p in PERCENTILES:
        columns[f"p{p}"] = lambda one, key=f"p{p}": significant(  # type: ignore[misc]
            one.bandwidth_bps[key] / scale
        )
    columns |= {
        "CoV": lambda one: _percent(one.coefficient_of_variation),
        "max step": lambda one: _percent(one.largest_change),
        "retransmitted": lambda one: _percent(one.retransmit_share),
    }
    title = f"Bandwidth [{unit}]; coefficient of variation, largest change between intervals"
    return title, _table(columns, some)


def _latency(some: Sequence[Summary]) -> tuple[str, list[Row]]:
    def of(which: str, key: str) -> Callable[[Summary], str]:
        def text(one: Summary) -> str:
            found: Latency | None = getattr(one, which)
            return ABSENT if found is None else quantity(getattr(found, f"{key}_ns"), "ns")

        return text

    columns = _names(some) | {
        "min RTT": lambda one: ABSENT if one.min_rtt_ns is None else quantity(one.min_rtt_ns, "ns"),
        "idle": of("idle", "p50"),
        "p50": of("loaded", "p50"),
        "p90": of("loaded", "p90"),
        "p99": of("loaded", "p99"),
        "max": of("loaded", "max"),
        "CPUs": _cpus,
    }
    title = "Latency: TCP's min RTT, idle (p50), loaded; CPUs here and there"
    return title, _table(columns, some)


def _cpus(one: Summary) -> str:
    pair = [one.sender_cpus, one.receiver_cpus]
    here, there = pair if one.direction == "out" else pair[::-1]
    return " ".join(ABSENT if c is None else f"{c:.2f}" for c in (here, there))


def _table(columns: dict[str, Callable[[Summary], str]], some: Sequence[Summary]) -> list[Row]:
    return [[*columns], *([text(one) for text in columns.values()] for one in some)]


def _percent(value: float | None) -> str:
    return ABSENT if value is None else percent(value)
