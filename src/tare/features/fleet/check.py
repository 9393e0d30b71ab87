"""Who is in a fleet, what each host is and can do, and the network between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from tare.errors import TareError
from tare.experiment.fingerprints.machine.difference import Change, Rule, differences
from tare.experiment.fingerprints.network import file as network_file
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.experiment.journal import MachineFigure
from tare.experiment.supplies import Supplies
from tare.features.fleet import laboratory
from tare.features.fleet.engine import Engine
from tare.features.fleet.laboratory import Listening, Looked, Probed, Refusal, Reply
from tare.networks import peering
from tare.statistics.hosts import FEWEST_ODD, odd_hosts
from tare.statistics.statistic import FloatArray

#: Probability that any host is called odd in any figure, where none is.
ERROR = 0.05
#: Hosts that each host measures the network to.
PARTNERS = 3
#: Margin within which two hosts' budgets, rates and bandwidths count as equal, relative.
NETWORK_MARGIN = 0.1
#: Facts of a moment.
_PASSING = frozenset({"load_average"})
#: Duration of one look at a machine, in seconds; looks at one machine do not overlap.
LOOK_S = 7.0
#: Duration of one direction's measurement, in seconds: besides a bucket search, and without one.
_WAY_S, _PLAIN_S = 5.0, 15.0
#: Until whoever listens for others ends by itself: what one measurement takes besides its search.
_EACH_S = 60.0


class HostCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One host, as it was found."""

    name: str
    #: Why it could not be looked at.
    why: str | None = None
    #: The machine's boot, by which hosts that are one machine are known.
    machine: str = ""
    facts: dict[str, bool | int | float | str] = {}
    figures: tuple[MachineFigure, ...] = ()


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The network from one host to another."""

    source: str
    target: str
    why: str | None = None
    found: NetworkFingerprint | None = None

    @property
    def shape(self) -> str | None:
        """What shapes it; None: that was not looked for."""
        shaping = None if self.found is None else self.found.shaping
        return None if shaping is None else shaping.kind

    def value(self, name: str) -> float | None:
        """Return a figure of it; of what shapes it, ``budget``, ``high`` and ``low``."""
        if self.found is None:
            return None
        if name in self.found.figures:
            return self.found.figures[name].value
        if self.shape not in _SET:
            return None
        one = getattr(self.found.shaping, _SHAPING.get(name, ""), None)
        return None if one is None else one.value * 1e9


#: Kinds of shaping that are configured rather than momentary; then the figures of a shaping.
_SET = frozenset({"bucket", "boost", "drop", "capped"})
_SHAPING = {"budget": "budget_gbit", "high": "high_gbps", "low": "low_gbps"}
#: Figures that vary without a change of configuration.
SPEEDS = ("bandwidth.fresh", "latency.unpaced.p50")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """All hosts of a fleet, as they were found."""

    version: int = 1
    hosts: tuple[HostCheck, ...]
    ways: tuple[Way, ...] = ()


class OddFact(NamedTuple):
    """A host has another value than most."""

    host: str
    fact: str
    value: Any
    most: Any


class OddFigure(NamedTuple):
    """A host is further from the others than they are from each other, and by what matters."""

    host: str
    metric: str
    ratio: float
    p: float


class Pair(NamedTuple):
    """Two hosts differ, of too few to say which is odd."""

    first: str
    second: str
    change: Change


class OddWay(NamedTuple):
    """A host's network is not that of most: it has ``none``, it has one ``alone``, or another."""

    host: str
    figure: str
    how: Literal["none", "alone", "other"]
    value: float | None = None
    most: float | None = None


def take(engine: Engine, supplies: Supplies, *, network: bool, search_s: float | None) -> Check:
    """Look at every host of a fleet that was reached.

    Parameters
    ----------
    engine : Engine
        Reached.
    supplies : Supplies
        What probes a machine.
    network : bool
        Also measure the network between hosts.
    search_s : float or None
        How long to look for a bucket on each way; None: ten seconds in all.
    """
    found = dict.fromkeys(engine.hosts, HostCheck(name=""))
    live = [host for host in engine.hosts.values() if host.ended is None]
    in_turn = max(Counter(host.hello.machine for host in live).values(), default=0)

    def watch(done: int) -> None:
        engine.progress.count("looking at hosts", done, len(live), in_turn * LOOK_S)

    for host, looked in engine.each(laboratory.look, supplies, watch=watch):
        if isinstance(looked, Refusal):
            engine.refuse(host, looked)
        elif not isinstance(looked, Looked):
            engine.refuse(host, Refusal("what it sent is none of tare's", None))
        else:
            found[host.name] = HostCheck(
                name=host.name,
                machine=host.hello.machine,
                facts={fact.name: fact.value for fact in looked.facts},
                figures=looked.figures,
            )
    ways = tuple(_ways(engine, search_s)) if network else ()
    for name, host in engine.hosts.items():
        if not found[name].name:
            why = None if host.why is None else host.why.why
            found[name] = HostCheck(name=name, machine=host.hello.machine, why=why or "?")
    return Check(hosts=tuple(found.values()), ways=ways)


def _ways(engine: Engine, search_s: float | None) -> list[Way]:
    """Measure from each host to some others; no host is in two measurements at a time."""
    live = [host.name for host in engine.hosts.values() if host.ended is None]
    turns = [*rounds(live)]
    with laboratory.private_folder() as folder:
        peering.make_key(folder / "network.key")
        key = (folder / "network.key").read_bytes()
    lasts = (len(live) * len(turns) + 1) * ((search_s or 0.0) + _EACH_S)
    where: dict[str, str] = {}
    unheard: dict[str, str] = {}
    done: list[Way] = []
    each_s = _PLAIN_S if search_s is None else search_s + _WAY_S

    def watch(now: int) -> None:
        of = sum(map(len, turns))
        engine.progress.count("network", len(done) + now, of, len(turns) * each_s)

    for host, found in engine.each(laboratory.listen, key, lasts):
        if isinstance(found, Listening):
            where[host.name] = found.address
        elif isinstance(found, Refusal):
            unheard[host.name] = found.why
    for pairs in turns:
        asked = [(a, b) for a, b in pairs if a in where and b in where]
        for a, b in [pair for pair in pairs if pair not in asked]:
            lacking = a if a not in where else b
            done.append(Way(source=a, target=b, why=f"{lacking}: {unheard.get(lacking, '?')}"))
        for source, target in asked:
            engine.submit(engine.hosts[source], laboratory.probe, key, where[target], search_s)
        heard = {host.name: found for host, found in engine.rest(watch=watch)}
        done += [_way(source, target, heard.get(source)) for source, target in asked]
    return done


def _way(source: str, target: str, found: Reply | None) -> Way:
    if isinstance(found, Probed):
        try:
            read = network_file.decode(found.document, f"the network from {source} to {target}")
            return Way(source=source, target=target, found=read)
        except TareError as error:
            return Way(source=source, target=target, why=error.message)
    why = found.why if isinstance(found, Refusal) else "the host is gone"
    return Way(source=source, target=target, why=why)


def rounds(names: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """Pair hosts off so that each sends to some others, and is in one pair at a time."""
    n = len(names)
    for step in range(1, min(PARTNERS, n - 1) + 1):
        left = [(i, (i + step) % n) for i in range(n)]
        while left:
            busy: set[int] = set()
            now, others = [], []
            for pair in left:
                if busy.isdisjoint(pair):
                    now.append(pair)
                    busy.update(pair)
                else:
                    others.append(pair)
            left = others
            yield [(names[a], names[b]) for a, b in now]


def odd_facts(check: Check) -> list[OddFact]:
    """Return facts in which a host is not like more than half of them."""
    hosts = [host for host in check.hosts if host.facts]
    found = []
    for fact in dict.fromkeys(name for host in hosts for name in host.facts):
        if fact in _PASSING:
            continue
        counts = Counter(host.facts.get(fact) for host in hosts)
        most, n = counts.most_common(1)[0]
        if 2 * n > len(hosts):
            found += [
                OddFact(host.name, fact, host.facts.get(fact), most)
                for host in hosts
                if host.facts.get(fact) != most
            ]
    return found


def machines(check: Check) -> list[HostCheck]:
    """Return one host of each machine; between others of it, what differs is chance."""
    there = [host for host in check.hosts if host.why is None]
    return list({host.machine or host.name: host for host in reversed(there)}.values())[::-1]


def odd_figures(check: Check) -> list[OddFigure]:
    """Return what a host can do otherwise than the others, of at least four of them."""
    by_metric: dict[str, dict[str, MachineFigure]] = {}
    for host in machines(check):
        for one in host.figures:
            if one.values and min(one.values) > 0:
                by_metric.setdefault(one.metric, {})[host.name] = one
    several = {metric: own for metric, own in by_metric.items() if len(own) >= FEWEST_ODD}
    return [
        OddFigure(name, metric, float(np.exp(off)), p)
        for metric, own in several.items()
        for name, off, p in _odd({n: one.values for n, one in own.items()}, len(several))
        if abs(off) > np.log1p(own[name].margin)
    ]


def _odd(values: Mapping[str, Sequence[float]], family: int) -> Iterator[tuple[str, float, float]]:
    """Yield hosts that are unlike the others, by how much as a logarithm, and p."""
    odd = odd_hosts(*_levels([*values.values()]), family)
    for name, off, p in zip(values, odd.off, odd.p, strict=True):
        if p < ERROR:
            yield name, float(off), float(p)


def _levels(values: Sequence[Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Return each host's mean logarithm, and the variance of that."""
    logs = [np.log(np.array(one)) for one in values]
    error = [float(np.var(one, ddof=1)) / len(one) if len(one) > 1 else 0.0 for one in logs]
    return np.array([one.mean() for one in logs]), np.array(error)


def pairs(check: Check) -> list[Pair]:
    """Return figures in which two hosts differ, where there are too few to say which is odd."""
    hosts = [host for host in machines(check) if host.figures]
    if len(hosts) >= FEWEST_ODD:
        return []
    takes = {host.name: {one.metric: one.values for one in host.figures} for host in hosts}
    rules = {
        one.metric: Rule(unit=one.unit, better=one.better, margin=one.margin)
        for host in hosts
        for one in host.figures
    }
    names = [*takes]
    both = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return [
        Pair(a, b, change)
        for a, b in both
        for change in differences([takes[a]], [takes[b]], rules, beside=len(both))
        if change.verdict == "changed"
    ]


def odd_ways(check: Check) -> list[OddWay]:
    """Return hosts that send through another network than most: CLOUDNET, F3.1."""
    return [*_odd_budgets(check), *_odd_speeds(check)]


def _by_source(check: Check, figure: str) -> dict[str, list[float]]:
    """Return a figure of all ways from each host; none where these have no such figure."""
    found: dict[str, list[float]] = {}
    for way in check.ways:
        if way.found is not None:
            value = way.value(figure)
            found.setdefault(way.source, []).extend([] if value is None else [value])
    return found


def _odd_budgets(check: Check) -> Iterator[OddWay]:
    """Compare what is set, not drawn: beyond the margin, it is another."""
    for figure in _SHAPING:
        by_host = _by_source(check, figure)
        own = {name: float(np.median(values)) for name, values in by_host.items() if values}
        is_common = 2 * len(own) > len(by_host)
        if figure == "budget":
            odd = [name for name in by_host if (name in own) != is_common]
            yield from (OddWay(name, figure, "none" if is_common else "alone") for name in odd)
        if is_common:
            middle = float(np.median([*own.values()]))
            for name, value in own.items():
                if abs(np.log(value / middle)) > np.log1p(NETWORK_MARGIN):
                    yield OddWay(name, figure, "other", value, middle)


def _odd_speeds(check: Check) -> Iterator[OddWay]:
    """Hold what varies by itself against how much it does from host to host."""
    for figure in SPEEDS:
        own = {name: values for name, values in _by_source(check, figure).items() if values}
        if len(own) < FEWEST_ODD:
            continue
        for name, off, _ in _odd(own, len(SPEEDS)):
            if abs(off) > np.log1p(NETWORK_MARGIN):
                value = float(np.exp(np.mean(np.log(own[name]))))
                yield OddWay(name, figure, "other", value, value / float(np.exp(off)))
