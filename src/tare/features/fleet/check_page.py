"""What ``tare fleet check`` shows: who is there, and which hosts are not like the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tare.features.fleet import phrases
from tare.features.fleet.check import (
    Check,
    HostCheck,
    machines,
    odd_facts,
    odd_figures,
    odd_ways,
    pairs,
)
from tare.results.finding import Answer, Column, Finding, Table
from tare.results.message import Amount, Message, Ratio, message
from tare.results.report import Origin, Report, Section
from tare.statistics.hosts import FEWEST_ODD
from tare.units import p_value

_CHECK_ALIKE_TEXTS = {
    "facts": (
        "{'both' if hosts == 2 else 'all %d' % hosts} hosts have the same processor, memory, "
        "kernel and settings"
    ),
    "figures": (
        "no host is shown to be faster or slower than the others ({hosts | counted('host')})"
    ),
    "ways": (
        "no host is shown to send through another network than the others ("
        "{hosts | counted('host')})"
    ),
}
_CHECK_QUESTION_TEXTS = {
    "facts": "Are the hosts the same machines?",
    "figures": "Can the hosts do the same?",
    "ways": "Is the network between them the same?",
}
_CHECK_WAYS_TEXTS = {
    "none": "no token bucket was found from {host}; most hosts have one",
    "alone": "{host} has a token bucket; most hosts have none",
    "other": "{host}: {figure} is {value}; most hosts have {most}",
}

#: Facts by which one tells machines apart, each a column.
_SHOWN = ("cpu", "cpus", "memory_bytes", "kernel", "hypervisor")
#: Figures of one direction between two hosts: key, title, unit.
_FIGURES = (
    ("bandwidth.fresh", "bandwidth", "bits/s"),
    ("latency.unpaced.p50", "latency", "ns"),
    ("budget", "budget", "bits"),
    ("high", "high rate", "bits/s"),
    ("low", "low rate", "bits/s"),
)
#: Sentences of one kind; the tables have all.
_MOST_SAID = 6


def make(check: Check, command: str) -> Report:
    """Lay the page out; ``command`` looks again."""
    found = findings(check)
    worst = sorted(found, key=lambda one: one.verdict != "no")
    there = [host for host in check.hosts if host.why is None]
    said = [one for finding in worst for one in finding.head]
    return Report(
        command="fleet check",
        exit_code=exit_code(check, found),
        figures={"hosts": check.hosts, "ways": check.ways},
        name="fleet",
        question=message("Are all hosts of this fleet alike?"),
        answers=tuple(one for i, one in enumerate(said) if one not in said[:i]),
        strip=(
            ("hosts", f"{len(there)}"),
            ("machines", f"{len({host.machine for host in there})}"),
            *((("ways", f"{len(check.ways)}"),) if check.ways else ()),
        ),
        missing=tuple(
            message("{host} cannot measure this: {why}", host=host.name, why=host.why)
            for host in check.hosts
            if host.why is not None
        )
        + tuple(_one_machine(there)),
        cells=_hosts(check),
        sections=tuple(map(Section, found)),
        lead=worst[0].name,
        origin=Origin(commands=(command,), title="How to look again", seed=None),
        calm="Every host could be looked at.",
        rest=f"{command} --json -",
    )


def _one_machine(there: Sequence[HostCheck]) -> Iterator[Message]:
    by_machine: dict[str, list[str]] = {}
    for host in there:
        by_machine.setdefault(host.machine, []).append(host.name)
    for machine, names in by_machine.items():
        # That all are one is an answer.
        if machine and 1 < len(names) < len(there):
            yield message(
                "{hosts | listing} are one machine, so what differs between them is chance",
                hosts=names,
            )


def findings(check: Check) -> list[Finding]:
    """Return the answers: what hosts are, what they can do, and the network between them."""
    found = [_finding("facts", [*_facts(check)], check, ()), _figures(check)]
    if check.ways:
        said = [*_ways(check)]
        unlike: Answer = "no" if odd_ways(check) else "inconclusive"
        found.append(_finding("ways", said, check, (_ways_table(check),), unlike))
    return found


def exit_code(check: Check, found: Iterable[Finding]) -> int:
    """Return 0: all could be looked at, and none is unlike the others; 1: not; 2: only one host."""
    seen = all(host.why is None for host in check.hosts)
    seen = seen and all(way.found is not None for way in check.ways)
    if not seen or any(one.verdict == "no" for one in found):
        return 1
    return 0 if len(check.hosts) > 1 else 2


def _finding(
    name: str,
    said: Sequence[Message],
    check: Check,
    tables: tuple[Table, ...],
    unlike: Answer = "no",
) -> Finding:
    there = sum(host.why is None for host in check.hosts)
    hosts = len(machines(check)) if name == "figures" else there
    # Measured values without a significant difference are not thereby equal; facts are.
    same: Answer = "yes" if name == "facts" else "none"
    verdict: Answer = unlike if said else same if hosts > 1 else "nothing to compare"
    none = message(
        phrases.ONE_MACHINE
        if there > 1
        else "there is only one host, so there is nothing to compare it with"
    )
    if hosts > 1:
        none = message(_CHECK_ALIKE_TEXTS[name], hosts=hosts)
    return Finding(
        name=name,
        question=message(_CHECK_QUESTION_TEXTS[name]),
        verdict=verdict,
        answer=tuple(said) or (none,),
        summary=(*said[:_MOST_SAID], *_more(len(said))) or (none,),
        tables=tables,
    )


def _more(count: int) -> tuple[Message, ...]:
    return (
        (message("{n} more are in the report", n=count - _MOST_SAID),) if count > _MOST_SAID else ()
    )


def _facts(check: Check) -> Iterator[Message]:
    for one in odd_facts(check):
        yield message(
            "{host}: {fact} is {value}; most hosts have {most}",
            host=one.host, fact=one.fact, value=_shown(one.fact, one.value),
            most=_shown(one.fact, one.most),
        )  # fmt: skip


def _shown(fact: str, value: object) -> str | Amount:
    """Return a fact as one reads it."""
    if value is None:
        return "unknown"
    if fact.endswith("_bytes") and isinstance(value, int | float):
        return Amount(float(value), "bytes")
    return str(value)


def _figures(check: Check) -> Finding:
    odd = odd_figures(check)
    said = [
        message(
            "{host}: {metric} is {ratio} relative to the others ({p})",
            host=one.host, metric=one.metric, ratio=Ratio(one.ratio), p=p_value(one.p),
        )
        for one in odd
    ]  # fmt: skip
    for pair in pairs(check):
        change = pair.change
        said.append(message(
            "{metric}: {second} is {ratio} relative to {first} ({p}). Which of them is the "
            "odd one takes {hosts} hosts",
            first=pair.first, second=pair.second, metric=change.metric,
            ratio=Ratio(change.ratio, change.low, change.high), p=p_value(change.p),
            hosts=FEWEST_ODD,
        ))  # fmt: skip
    return _finding("figures", said, check, (_figures_table(check),))


def _figures_table(check: Check) -> Table:
    """Return a row a figure, a column a host: medians of its rounds."""
    from statistics import median

    hosts = [host for host in check.hosts if host.figures]
    rows: dict[str, dict[str, object]] = {}
    for host in hosts:
        for one in host.figures:
            row = rows.setdefault(one.metric, {"metric": one.metric})
            row[host.name] = Amount(median(one.values), one.unit) if one.values else None
    return Table(
        id="figures",
        title=message("What each host can do"),
        columns=(
            Column(key="metric", title="figure"),
            *(Column(key=host.name, title=host.name) for host in hosts),
        ),
        rows=tuple(rows.values()),
    )


def _ways(check: Check) -> Iterator[Message]:
    for way in check.ways:
        if way.found is None:
            yield message(
                "the network was not measured from {host} to {other}: {why}",
                host=way.source,
                other=way.target,
                why=way.why or "?",
            )
    for one in odd_ways(check):
        name, unit = next((title, unit) for key, title, unit in _FIGURES if key == one.figure)
        value, most = (None if v is None else Amount(v, unit) for v in (one.value, one.most))
        yield message(
            _CHECK_WAYS_TEXTS[one.how],
            host=one.host, figure=name,
            **({} if value is None else {"value": value, "most": most}),
        )  # fmt: skip


def _ways_table(check: Check) -> Table:
    heads: tuple[str | Column, ...] = (
        Column(key="source", title="from"),
        Column(key="target", title="to"),
        *(Column(key=key, title=title, unit=unit) for key, title, unit in _FIGURES),
        Column(key="shaping", title="shaped"),
    )
    rows = (
        (way.source, way.target, *(way.value(key) for key, *_ in _FIGURES),
         way.why if way.found is None else way.shape)
        for way in check.ways
    )  # fmt: skip
    return Table.of(message("The network between hosts"), heads, rows, id="ways")


def _hosts(check: Check) -> Table:
    heads: tuple[str | Column, ...] = (
        "host",
        *(Column(key=name, title=name.removesuffix("_bytes")) for name in _SHOWN),
    )
    rows = (
        (host.name, *(_shown(name, host.facts.get(name)) for name in _SHOWN))
        for host in check.hosts
        if host.why is None
    )
    return Table.of(message("The hosts"), heads, rows, id="hosts")
