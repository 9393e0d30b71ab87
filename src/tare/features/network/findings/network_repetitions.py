"""Does every trial begin with the same network? CLOUDNET's Figure 19."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.network_cells import Level, Networks, over_networks
from tare.features.network.findings.by_budget import Pooled, by_level, counts
from tare.features.network.findings.depletion import LevelTrials, State, courses
from tare.registry import Description
from tare.results import phrases
from tare.results.finding import Answer, Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Chosen, Duration, Message, message
from tare.statistics.depletion import BOUND, FEWEST
from tare.units import p_value

#: Programs that a row of the table names.
_MOST_NAMED = 12
_DESCRIPTION = Description(
    name="network_repetitions",
    title="Trials in order of time, with the tokens that each began with",
    question="Does every trial begin with the same network?",
    source="CLOUDNET, Figure 19",
)


def _judge(networks: Networks) -> Finding | Message | None:
    """Judge whether more trials would help, or each leaves the next a worse network."""
    found = courses(networks)
    if not found:
        return message("no level has a bucket: no trial takes tokens from another")
    drained, budgets = [c for c in found if c.state == "drained"], by_level(networks)
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=(*_answer(found), *_misestimated(budgets)),
        verdict=_verdict(found),
        summary=_remedy(drained) if drained else None,
        settle=_settle(found),
        basis=str(networks.basis),
        estimates=tuple(e for c in found for e in _estimates(c)),
        tables=(*([_budget_table(budgets)] if budgets else []), _table(found)),
        caveats=tuple(_caveats(found)),
        charts=(*(["network_by_budget"] if budgets else []), "network_running"),
    )


def _answer(found: Sequence[LevelTrials]) -> Iterator[Message]:
    """Say level by level what more trials would do; levels of which the same is true at once."""
    slowing = [c for c in found if c.state in ("drained", "changing")]
    for c in slowing:
        yield from _slowing(c)
    drained = [c for c in slowing if c.state == "drained"]
    if drained:
        yield _remedy(drained)
    reset = [c for c in found if c.state == "reset"]
    if reset:
        yield message(
            "every trial at {levels | listing} begins with the budget of its level (budget = "
            '"reset"): none takes tokens from another. More trials narrow the intervals. '
            'budget = "carry" shows how trials in a row fare',
            levels=[c.level for c in reset],
        )
    for c in (c for c in found if c.state == "steady" and c.rung.level.bucket is not None):
        yield from _steady(c)
    open_ = [c for c in found if c.state == "inconclusive" and c.rung.level.bucket is not None]
    if open_:
        yield _open(open_)


def _slowing(c: LevelTrials) -> Iterator[Message]:
    if c.state == "changing":
        yield message(
            "trials at {level} take longer over time: with the latest vs. the earliest, "
            "{ratio} ({p}). No budget is depleted, so the machine changed",
            level=c.level,
            ratio=c.ratio,
            p=p_value(c.p),
        )
        return
    assert c.tokens is not None
    size = max(1, len(c.tokens) // 3)
    first, last = (float(np.median(x)) for x in (c.tokens[:size], c.tokens[-size:]))
    yield message(
        "at {level} the experiment depletes its own network. Trials with the fewest tokens "
        "vs. those with the most: {ratio}{% if reference %}, relative to {reference} trials "
        "of the same blocks{% endif %} ({p})",
        level=c.level,
        ratio=c.ratio,
        reference=c.reference,
        p=p_value(c.p),
    )
    yield message(
        "trials began with {first} at first and {last} at last",
        first=Amount(first, "bits"),
        last=Amount(last, "bits"),
    )
    yield from _misled(c)


def _misled(c: LevelTrials) -> Iterator[Message]:
    """Say how far the first trials misled, as CLOUDNET's Figure 19 does."""
    e = c.early
    if e is None:
        return
    off = abs(e.off)
    if e.missed or off > BOUND:
        yield message(
            "the median of all {trials} trials is {% if missed %}outside the interval of the "
            "first {first}{% endif %}{% if off %}{% if missed %}, and {% endif %}{off} from "
            "the median of the first {first}{% endif %}",
            trials=e.of,
            first=e.n,
            missed=e.missed,
            off=Amount(off, "share") if off > BOUND else None,
        )
    if e.narrowing > 1:
        yield message(
            "the interval is {times} times as wide as that of the first {first}, not narrower",
            times=e.narrowing,
            first=e.n,
        )


def _remedy(drained: Sequence[LevelTrials]) -> Message:
    """Say what would make the trials alike: the longest idle period, of those that are known."""
    known = [(c.rest_s, c) for c in drained if c.rest_s is not None]
    if not known:
        return message('more trials do not help; let each begin alike ([network] budget = "reset")')
    rest, c = max(known, key=lambda x: x[0])
    bucket = c.rung.level.bucket
    assert bucket is not None
    return message(
        "more trials do not help; leave {rest} idle before each ([network] rest = "
        '"refill"; {refill} refill what a trial takes), or let each begin alike (budget = '
        '"reset")',
        rest=Duration(rest),
        refill=Chosen(bucket.refill_bps, "bits/s"),
    )


def _misestimated(budgets: Mapping[Level, Sequence[Pooled]]) -> Iterator[Message]:
    """Say how many programs have no tight and right median once the budget is at its lowest."""
    if budgets:
        level, some = list(budgets.items())[-1]
        largest = next(iter(budgets)).name
        wrong, wide = counts(some)
        yield message(
            "repetitions with budgets from {largest} down to {level}: the median of {wrong} "
            "of {of | counted('program')} is off by more than {bound}{% if wide %}; of "
            "{wide} more it is right, but the interval is wider than that{% endif %}",
            level=level.name, largest=largest, wrong=wrong, wide=wide, of=len(some),
            bound=Chosen(BOUND),
        )  # fmt: skip


def _steady(c: LevelTrials) -> Iterator[Message]:
    e = c.early
    yield message(
        "at {level} more trials help: {% if ratio %}trials with the fewest tokens vs. those "
        "with the most, {ratio}{% else %}each begins with the same tokens{% endif %}",
        level=c.level,
        ratio=c.ratio,
    )
    if e is not None and e.narrowing < 1:
        yield message(
            "the interval of all {trials} trials is {narrower} narrower than that of the "
            "first {first}",
            trials=e.of,
            first=e.n,
            narrower=Amount(1 - e.narrowing, "share"),
        )
    if c.lasting is not None:
        yield message(
            "the bucket at {level} is depleted after about {trials | counted('more trial')}",
            level=c.level,
            trials=c.lasting,
        )


def _open(some: Sequence[LevelTrials]) -> Message:
    """Say what is missing for those that are inconclusive."""
    n = min(c.rung.n for c in some)
    if n < FEWEST:
        return message(
            "inconclusive at {levels | listing}: at least {least} trials are needed, better "
            "12, to see whether each leaves fewer tokens. {trials | counted('trial')} ran",
            levels=[c.level for c in some],
            trials=n,
            least=FEWEST,
        )
    return message(
        "inconclusive whether trials take longer with fewer tokens: {levels | listing}. More "
        "trials settle it, with an interval within {bound} or beyond chance",
        levels=[
            message("{level}{% if ratio %} {ratio}{% endif %}", level=c.level, ratio=c.ratio)
            for c in some
        ],
        bound=Chosen(BOUND),
    )


def _verdict(found: Sequence[LevelTrials]) -> Answer:
    states = {c.state for c in found if c.rung.level.bucket is not None}
    if "drained" in states:
        return "no"
    open_ = not states or bool(states & {"inconclusive", "changing"})
    return "inconclusive" if open_ else "yes"


def _settle(found: Sequence[LevelTrials]) -> Message | None:
    """Say what would settle it; None: nothing has to, or nothing would."""
    few = [c for c in found if c.state == "inconclusive" and c.rung.level.bucket is not None]
    if not few:
        return None
    if any(c.rung.n < FEWEST for c in few):
        return message(phrases.SETTLE_TRIALS, trials=FEWEST)
    return message(phrases.SETTLE_MORE)


def _caveats(found: Sequence[LevelTrials]) -> Iterator[Message]:
    buckets = [c for c in found if c.rung.level.bucket is not None]
    if any(c.depletion is not None and c.reference is None for c in buckets):
        yield message(
            "without unshaped trials in the same blocks, a change of the machine over time "
            "looks like one of its network"
        )


def _estimates(c: LevelTrials) -> Iterator[Estimate]:
    d = c.depletion
    if d is not None:
        yield Estimate(
            name="value with fewest tokens over value with most",
            levels=dict(c.rung.cell.levels),
            value=d.ratio,
            unit="1",
            low=d.low,
            high=d.high,
            confidence=0.95,
            method="Hodges–Lehmann shift of log values, rank-sum interval",
            n=c.rung.n,
            trials=tuple(int(t) for t in c.rung.trials["trial"]),
        )


def _table(found: Sequence[LevelTrials]) -> Table:
    words: dict[State, str] = {
        "drained": "depletes itself",
        "changing": "changes",
        "steady": "more trials help",
        "reset": "begins alike each time",
        "inconclusive": "inconclusive",
    }
    heads: list[str | Column] = [
        Column(key="level", title="network"),
        Column(key="n", title="trials"),
        Column(key="first", title="tokens when the first began", unit="bits"),
        Column(key="last", title="when the last began", unit="bits"),
        *interval_columns("ratio", "value with fewest tokens over that with most", "1"),
        Column(key="p", title="p (Holm)", unit="1"),
        Column(key="narrowing", title="width of interval, all over first quarter", unit="1"),
        Column(key="off", title="median of all relative to the first quarter's", unit="1"),
        Column(key="rest", title="idle period that refills", unit="ns"),
        Column(key="state", title="verdict"),
    ]
    rows = []
    for c in found:
        ends = (None, None) if c.tokens is None else (float(c.tokens[0]), float(c.tokens[-1]))
        d, rest = c.depletion, None if c.rest_s is None else c.rest_s * 1e9
        ratio = (None,) * 4 if d is None else (d.ratio, d.low, d.high, c.p)
        early = (None, None) if c.early is None else (c.early.narrowing, c.early.off)
        rows.append((c.name, c.rung.n, *ends, *ratio, *early, rest, words[c.state]))
    note = message(
        "Tokens are those of the emptiest bucket. Trials with the fewest and the most tokens "
        "are the outer thirds of the trials, below 18 trials the halves. A rank test finds "
        "“depletes itself” in at most 5 % of experiments in which tokens make no difference"
    )
    return Table.of(message("Trials in order of time"), heads, rows, note)


def _budget_table(budgets: Mapping[Level, Sequence[Pooled]]) -> Table:
    heads: list[str | Column] = [
        Column(key="level", title="budget of the last repetitions"),
        Column(key="programs", title="programs"),
        Column(key="wrong", title="median off by more than 10 %"),
        Column(key="wide", title="right, interval wider than 10 %"),
        Column(key="neither", title="not tight and right"),
        Column(key="which", title="which"),
    ]
    rows = []
    for level, some in budgets.items():
        wrong, wide = counts(some)
        which = [p.ladder.where for p in some if not (p.is_right and p.is_tight)]
        named = ", ".join(which[:_MOST_NAMED]) + (" …" if len(which) > _MOST_NAMED else "")
        rows.append((level.name, len(some), wrong, wide, wrong + wide, named or None))
    return Table.of(message("Programs without a tight and right median, by budget"), heads, rows,
        message("Of all repetitions from the largest budget down to this one: the median is "
            "right within 10 % of that at the largest budget alone; its 95 % interval is "
            "tight within 10 % of the median"),
    )  # fmt: skip


UNIT = FindingUnit(description=_DESCRIPTION, order=9, find=over_networks(_DESCRIPTION, _judge))
