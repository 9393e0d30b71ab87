"""What a trial sends, and which budgets that makes matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.experiment.findings.evidence import interval_estimate
from tare.experiment.findings.finding import FindingUnit, settled
from tare.experiment.findings.network_cells import Networks, carried, over_networks
from tare.features.network.findings.need import (
    FEWEST_TRIALS,
    RARELY,
    LevelTraffic,
    Need,
    State,
    needs,
    slowdowns_vs_largest,
)
from tare.features.network.findings.network_slowdown import Slowed
from tare.registry import Description
from tare.results import phrases
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.intervals import Interval, share_interval
from tare.units import quantity

_TAKEN = "a trial takes at most {bits}, net of refills, from a bucket that is not depleted"

_DESCRIPTION = Description(
    name="network_spending",
    title="What each host sends in a trial and takes from its bucket, and the budgets",
    question="What does a trial send, and which budgets matter?",
    source="CLOUDNET, Figures 15 and 18",
)


#: Number of trials from which a budget that suffices for them counts as hardly used.
_MANY = 1000
_STATES: dict[State, str] = {"enough": "enough", "dry": "depleted", "open": "inconclusive"}


def _judge(networks: Networks) -> Finding | Message | None:
    """Find what trials send, from where, and which budgets are enough."""
    found = needs(networks)
    if not found:
        uneven = any(rung.level.uneven for _, rung in networks.rungs)
        return message(
            (
                "hosts begin with different tokens, so no budget is enough, or too small, "
                "for all of them"
            )
            if uneven
            else (
                'nothing was counted: no level has a bucket. One such as "bucket high=2Gbit '
                'low=200Mbit budget=10Gbit" shows what a trial takes from it'
            )
        )
    decided = [part for need in found for part in _decided(need, networks)]
    answer = tuple(said for need in found for said in _answer(need, networks))
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=answer,
        summary=answer,
        verdict=settled(decided),
        settle=None if all(decided) else message(phrases.SETTLE_MORE),
        basis="bytes that the queueing discipline of each host sent",
        estimates=tuple(e for need in found for e in _estimates(need)),
        tables=(_table(found),),
        caveats=(
            message(
                "the network is emulated on this machine: no other traffic, and no latency but "
                "that of queues"
            ),
            message(
                "budgets and what is sent include all headers: 4 to 5 % more than a program "
                "writes in large pieces. They count only what leaves a host"
            ),
        ),
        charts=("network_tokens",),
    )


def _answer(need: Need, networks: Networks) -> Iterator[Message]:
    """Say what a trial sends and which budgets matter, of one ladder."""
    yield message(
        "a trial{% if where %} of {where}{% endif %} sends {sent} from host {host}"
        "{% if several %}, which sends most{% endif %}",
        where=need.ladder.at,
        sent=_sent(need.busiest.sent),
        host=need.busiest.host,
        several=len(need.spendings[0].hosts) > 1,
    )
    if carried(networks.results):
        yield from _in_a_row(need)
        return
    yield from _enough(need)
    yield _short(need)
    for spent in need.of("open"):
        yield message(
            "inconclusive whether {level} is enough: {why}",
            level=spent.rung.level.name,
            why=_why_open(need, spent),
        )
    yield from _shown(need, networks)


def _sent(sent: Interval) -> Amount:
    """Give what is sent, without an interval whose ends look alike."""
    if quantity(sent.low, "bits") == quantity(sent.high, "bits"):
        return Amount(sent.estimate, "bits")
    return Amount(sent.estimate, "bits", sent.low, sent.high)


def _decided(need: Need, networks: Networks) -> Iterator[bool]:
    """Say of what is sent, of budgets and of times whether they are conclusive."""
    # A median without an interval is a number, and no measurement of what trials send.
    yield need.busiest.sent.low is not None
    if carried(networks.results):
        return
    yield need.enough is not None
    yield need.short is not None
    yield not need.of("open")
    yield not _open(slowdowns_vs_largest(networks, need.ladder))


def _why_open(need: Need, spent: LevelTraffic) -> Message:
    """Say of a budget why it is not known whether it is enough."""
    lasted = _lasted(spent)
    if (
        need.bits is not None
        and need.most is not None
        and need.bits >= (spent.rung.level.budget_bits or 0)
    ):
        return message(
            "at {level} a trial took {taken}, which is more; it was {lasted}",
            level=need.most.rung.level.name,
            taken=Amount(need.bits, "bits"),
            lasted=lasted,
        )
    return message(
        "it was {lasted}; at least {least} trials are needed", lasted=lasted, least=FEWEST_TRIALS
    )


def _lasted(spent: LevelTraffic) -> Message:
    """Say in how many trials a budget was not depleted, and in which share it may be."""
    return message(
        "not depleted in {trials | counted('trial')} ({share})",
        trials=spent.rung.n,
        share=Amount(spent.dry / spent.rung.n, "share", *spent.share),
    )


def _open(slowed: Sequence[Slowed]) -> list[Slowed]:
    return [s for s in slowed if not s.comparison.verdict.conclusive]


def _in_a_row(need: Need) -> Iterator[Message]:
    """Say how many trials a budget lasted, where they share it."""
    if need.bits is not None:
        yield message(_TAKEN, bits=Amount(need.bits, "bits"))
    for s in need.spendings:
        yield message(
            "{level} {% if depleted %}is depleted in {depleted} of "
            "{trials | counted('trial')} in a row{% else %}lasts for all "
            "{trials | counted('trial')}{% endif %}",
            level=s.rung.level.name,
            depleted=s.dry,
            trials=s.rung.n,
        )


def _enough(need: Need) -> Iterator[Message]:
    if need.bits is None:
        sent = Amount(need.busiest.sent.estimate, "bits")
        yield message(
            "inconclusive which budget is enough, as every trial depletes a bucket. {sent} "
            "is enough for one trial",
            sent=sent,
        )
        return
    taken = message(_TAKEN, bits=Amount(need.bits, "bits"))
    if need.enough is None:
        yield taken
        return
    level = need.enough.rung.level
    budget = level.budget_bits or 0
    if not need.bounded:
        yield message("{level} is enough", level=level.name)
        return
    yield taken
    if budget <= need.bits:
        # Decided by its own trials alone.
        yield message(
            "{level} is enough nevertheless: it was {lasted}, and trials take no longer",
            level=level.name,
            lasted=_lasted(need.enough),
        )
    else:
        trials = int(budget / need.bits) if need.bits > 0 else _MANY
        yield message(
            "larger budgets are not depleted: {% if trials %}{level} is enough for "
            "{trials | counted('trial')} without an idle period{% else %}a trial hardly uses "
            "{level}{% endif %}",
            level=level.name,
            trials=trials if trials < _MANY else None,
        )


def _short(need: Need) -> Message:
    if need.short is None:
        return message(
            "no budget that was tried is depleted: what a smaller one costs is inconclusive"
        )
    rung = need.short.rung
    return message(
        "{level} is depleted in {depleted} of {trials | counted('trial')}",
        level=rung.level.name,
        depleted=need.short.dry,
        trials=rung.n,
    )


def _shown(need: Need, networks: Networks) -> Iterator[Message]:
    """Say what the times show, relative to the largest budget."""
    found = slowdowns_vs_largest(networks, need.ladder)
    slow, open_ = [s for s in found if s.slower], _open(found)
    if slow:
        most = max(slow, key=lambda s: s.level.budget_bits or 0)
        yield message(
            "{level} is slower vs. {reference}, {change}",
            level=most.level.name,
            reference=most.reference.name,
            change=most.change,
        )
    if open_:
        yield message(
            "inconclusive by its times: {levels | listing}", levels=[s.level.name for s in open_]
        )


def _estimates(need: Need) -> Iterator[Estimate]:
    for s in need.spendings:
        for h in s.hosts:
            levels = {**s.rung.cell.levels, "host": str(h.host)}
            method = f"median, {h.sent.method}"
            trials = s.rung.trials["trial"]
            yield interval_estimate("sent in a trial", levels, h.sent, "bits", method, trials)


def _rounded(bits: float | None) -> float | None:
    """Leave out what a packet more or less makes: intervals of a few bytes want no digits."""
    return None if bits is None else float(f"{bits:.4g}")


def _table(found: Sequence[Need]) -> Table:
    several = any(need.ladder.where for need in found)
    heads: list[str | Column] = [
        *([Column(key="where", title="where")] if several else []),
        Column(key="level", title="network"),
        Column(key="host", title="host"),
        Column(key="n", title="trials"),
        *interval_columns("sent", "sent in a trial", "bits", "sent_"),
        Column(key="taken", title="most taken from the bucket", unit="bits"),
        Column(key="budget", title="initial budget", unit="bits"),
        Column(key="dry", title="trials depleted"),
        *interval_columns("share", "share of trials", "1", "share_"),
        Column(key="state", title="budget"),
    ]
    rows = (
        (*([need.ladder.where] if several else []), s.rung.level.name, str(h.host), s.rung.n,
         *map(_rounded, (h.sent.estimate, h.sent.low, h.sent.high)), h.taken,
         s.rung.level.budget_bits, h.dry, h.dry / s.rung.n, *share_interval(h.dry, s.rung.n),
         _STATES[state])
        for need in found
        for s, state in zip(need.spendings, need.states, strict=True)
        for h in s.hosts
    )  # fmt: skip
    note = message(
        "Values are medians over trials and include headers. What a trial takes is the "
        "largest fall of its tokens. A budget is enough if it is larger than what any of at "
        "least {least} trials took. It is also enough if it is depleted in at most {rarely} "
        "of trials (whole interval), which take no longer than at the largest budget",
        least=FEWEST_TRIALS,
        rarely=Chosen(RARELY),
    )
    return Table.of(message("What each host sends in a trial"), heads, rows, note)


UNIT = FindingUnit(description=_DESCRIPTION, order=6, find=over_networks(_DESCRIPTION, _judge))
