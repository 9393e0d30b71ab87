"""What a trial sends, and which budgets that makes matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.network_cells import Networks, applies, carried, networks_of
from tare.findings.network_need import (
    FEWEST_TRIALS,
    RARELY,
    Need,
    Spending,
    State,
    beside_largest,
    needs,
)
from tare.findings.network_slowdown import Slowed
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Message
from tare.statistics.shares import share_interval
from tare.units import counted, percent, quantity

_DESCRIPTION = Description(
    name="network_spending",
    title="What each host sends in a trial and takes from its bucket, beside the budgets",
    question="What does a trial send, and which budgets matter?",
    source="CLOUDNET, Figures 15 and 18",
)


_STATES: dict[State, str] = {"enough": "enough", "dry": "runs dry", "open": "inconclusive"}


def find(results: Results) -> Finding | None:
    """Tell what trials send, from where, and which budgets are enough."""
    if not applies(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    found = needs(networks)
    if not found:
        return uncompared(
            _DESCRIPTION,
            "Nothing was counted, since no level has a bucket: one such as "
            '"bucket high=2Gbit low=200Mbit budget=10Gbit" would show what a trial takes of it.',
        )
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join(sentence(need, networks) for need in found),
        verdict=settled(part for need in found for part in _decided(need, networks)),
        basis="bytes that the queueing discipline of each host sent",
        estimates=tuple(e for need in found for e in _estimates(need)),
        tables=(_table(found),),
        caveats=CAVEATS,
        charts=("network_tokens",),
    )


CAVEATS = (
    "The network is emulated on this machine: no other traffic, and no latency but that of queues.",
    "Budgets and what is sent count every byte on the wire, headers included (some 4 to 5 % more "
    "than a program writes in large pieces), and only what leaves a host: what it receives is the "
    "sender's.",
)


def sentence(need: Need, networks: Networks) -> str:
    """Tell what a trial sends and which budgets matter, of one ladder."""
    one = need.busiest
    where = f" for {need.ladder.where}" if need.ladder.where else ""
    bounds = ""
    if one.sent.low is not None and one.sent.high is not None:
        low, high = (quantity(x, "bits") for x in (one.sent.low, one.sent.high))
        bounds = f" [{low}, {high}]" if low != high else ""
    most = ", which sends most" if len(need.spendings[0].hosts) > 1 else ""
    told = (
        f"A trial{where} sends {quantity(one.sent.estimate, 'bits')}{bounds} from host {one.host}"
    )
    if carried(networks.results):
        return " ".join([f"{told}{most}.", *_in_a_row(need)])
    budgets = (*_enough(need), *_short(need), *_undecided(need))
    return " ".join([f"{told}{most}.", *budgets, *_shown(need, networks)])


def _decided(need: Need, networks: Networks) -> Iterator[bool]:
    """Tell of each thing that may be open whether it is decided: what is sent, budgets, times."""
    # A median without an interval is a number, and no measurement of what trials send.
    yield need.busiest.sent.low is not None
    if carried(networks.results):
        return
    yield need.enough is not None
    yield need.short is not None
    yield not need.of("open")
    yield not _open(beside_largest(networks, need.ladder))


def undecided(need: Need, spent: Spending) -> str:
    """Say of a budget why it is not known whether it is enough."""
    level, n = spent.rung.level, spent.rung.n
    low, high = (percent(x) for x in spent.share)
    dry = f"it did not run dry in {counted(n, 'trial')} [{low}, {high}]"
    if need.bits is not None and need.most is not None and need.bits >= (level.budget_bits or 0):
        taken = quantity(need.bits, "bits")
        return f"at {need.most.rung.level.name} a trial took {taken}, which is more; {dry}"
    return f"{dry}; {FEWEST_TRIALS} are needed at least"


def _open(beside: Sequence[Slowed]) -> list[Slowed]:
    return [s for s in beside if not s.comparison.verdict.conclusive]


def _in_a_row(need: Need) -> Iterator[str]:
    """Tell how many trials a budget lasted, where they share it."""
    if need.bits is not None:
        yield (
            f"While its bucket is not empty, it takes {quantity(need.bits, 'bits')} out of it at "
            "most."
        )
    for s in need.spendings:
        dry = sum((s.rung.use["times_dry"] > 0).groupby(s.rung.use["trial"]).any())
        if dry:
            yield f"{s.rung.level.name} ran dry in {dry} of {counted(s.rung.n, 'trial')} in a row."
        else:
            yield f"{s.rung.level.name} lasted for all {counted(s.rung.n, 'trial')}."


def _enough(need: Need) -> Iterator[str]:
    if need.bits is None:
        lasting = quantity(need.busiest.sent.estimate, "bits")
        yield (
            "Every trial emptied a bucket, whatever its budget: how much is enough is "
            f"inconclusive; {lasting} surely is."
        )
        return
    most = f"It takes {quantity(need.bits, 'bits')} out of the bucket at most"
    if need.enough is None:
        yield f"The most that a trial took out of a bucket is {quantity(need.bits, 'bits')}."
        return
    level = need.enough.rung.level
    budget = level.budget_bits or 0
    if not need.bounded:
        yield f"{level.name} is enough."
    elif budget <= need.bits:
        # Decided by its own trials alone.
        yield f"{most}; {level.name} is enough all the same: {_seldom(need.enough)}."
    else:
        times = budget / need.bits if need.bits > 0 else float("inf")
        yield (
            f"{most}, since the rest comes back meanwhile: budgets above that do not run dry, such "
            f"as {level.name}, which {_lasts(times)}."
        )


def _seldom(spent: Spending) -> str:
    return (
        f"it did not run dry in {counted(spent.rung.n, 'trial')} "
        f"[{percent(spent.share[0])}, {percent(spent.share[1])}], and takes no longer"
    )


def _lasts(times: float) -> str:
    if times >= 1000:
        return "a trial hardly touches"
    if times < 2:
        return f"is {times:.2g} times that, enough for one trial without rest"
    return f"is enough for {int(times)} trials without rest"


def _short(need: Need) -> Iterator[str]:
    if need.short is None:
        yield "No budget that was tried ran dry: what a smaller one costs is inconclusive."
        return
    rung = need.short.rung
    yield f"{rung.level.name} ran dry, in {need.short.dry} of {counted(rung.n, 'trial')}."


def _undecided(need: Need) -> Iterator[str]:
    for spent in need.of("open"):
        name = spent.rung.level.name
        yield f"Whether {name} is enough is inconclusive: {undecided(need, spent)}."


def _shown(need: Need, networks: Networks) -> Iterator[str]:
    """Tell what the times say of it, beside the largest budget."""
    beside = beside_largest(networks, need.ladder)
    slow, open_ = [s for s in beside if s.slower], _open(beside)
    if slow:
        most = max(slow, key=lambda s: s.level.budget_bits or 0)
        yield f"Its times show that {most.level.name} slows it down ({most.change})."
    if open_:
        yield f"By its times, inconclusive: {listing(s.level.name for s in open_)}."


def _estimates(need: Need) -> Iterator[Estimate]:
    for s in need.spendings:
        trials = tuple(int(t) for t in s.rung.trials["trial"])
        for h in s.hosts:
            yield Estimate(
                name="sent in a trial",
                levels={**s.rung.cell.levels, "host": str(h.host)},
                value=h.sent.estimate,
                unit="bits",
                low=h.sent.low,
                high=h.sent.high,
                confidence=0.95,
                method=f"median, {h.sent.method}",
                n=h.sent.n,
                trials=trials,
            )


def _rounded(bits: float | None) -> float | None:
    """Leave out what a packet more or less makes: intervals of a few bytes want no digits."""
    return None if bits is None else float(f"{bits:.4g}")


def _table(found: Sequence[Need]) -> Table:
    several = any(need.ladder.where for need in found)
    columns = (
        *((Column(key="where", title="where"),) if several else ()),
        Column(key="level", title="network"),
        Column(key="host", title="host"),
        Column(key="n", title="trials"),
        Column(key="sent", title="sent in a trial", unit="bits"),
        Column(key="sent_low", title="from", unit="bits"),
        Column(key="sent_high", title="to", unit="bits"),
        Column(key="taken", title="most taken from the bucket", unit="bits"),
        Column(key="budget", title="initial budget", unit="bits"),
        Column(key="dry", title="trials in which it ran dry"),
        Column(key="share", title="share of trials", unit="1"),
        Column(key="share_low", title="from", unit="1"),
        Column(key="share_high", title="to", unit="1"),
        Column(key="state", title="budget"),
    )
    rows = tuple(
        {
            "where": need.ladder.where,
            "level": s.rung.level.name,
            "host": str(h.host),
            "n": s.rung.n,
            "sent": _rounded(h.sent.estimate),
            "sent_low": _rounded(h.sent.low),
            "sent_high": _rounded(h.sent.high),
            "taken": h.taken,
            "budget": s.rung.level.budget_bits,
            "dry": h.dry,
            "share": h.dry / s.rung.n,
            **dict(zip(("share_low", "share_high"), share_interval(h.dry, s.rung.n), strict=True)),
            "state": _STATES[state],
        }
        for need in found
        for s, state in zip(need.spendings, need.states, strict=True)
        for h in s.hosts
    )
    return Table(
        title="What each host sends in a trial",
        columns=columns,
        rows=rows,
        note="Medians over trials, headers included. Taken: what was in the bucket when a trial "
        "began less the least that was in it later. A budget is enough where it is larger than "
        f"what any trial took, with {FEWEST_TRIALS} trials or more; or where it runs dry in at "
        f"most {percent(RARELY)} of trials (the whole interval), which take no longer than at "
        "the largest.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=8, find=find)
