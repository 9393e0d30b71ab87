"""What a fleet says: how much hosts differ, which is odd, whether a difference holds on all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from tare.features.fleet import core_ratio
from tare.features.fleet.host import CellLevels, What
from tare.features.fleet.results import Fleet, Series
from tare.render.vocabulary import TIMES
from tare.results.finding import Answer, Column, Finding, Table, interval_columns
from tare.results.message import Amount, Duration, Levels, Message, Ratio, Value, message
from tare.statistics.holm import holm
from tare.statistics.hosts import (
    FEWEST_HOSTS,
    Allocation,
    Component,
    Components,
    Everywhere,
    allocation,
    student,
)
from tare.units import p_value

_QUESTION_EVERYWHERE = "Does the difference hold on every host?"

#: Cells that have sentences of their own; tables have all.
_MOST_SAID = 4
#: Natural logarithm of the largest floating-point number, rounded down.
_MOST_LOG = 709.0
#: Probability that any host is called odd, or hosts are said to differ, where they do not.
ERROR = 0.05


def findings(fleet: Fleet) -> list[Finding]:
    """Return the answers in reading order: of what is compared first, where something is."""
    several = [one for one in fleet.ratios if len(one.hosts) >= FEWEST_HOSTS]
    found = [_everywhere(fleet, several)] if several else []
    if not several and (both := [one for one in fleet.ratios if len(one.hosts) > 1]):
        found = [_on_each(fleet, both)]
    if (of_chr := core_ratio.find(fleet)) is not None:
        found.insert(0, of_chr)
    if fleet.above:
        found.append(_above(fleet))
    some = [one for one in fleet.cells if len(one.hosts) > 1]
    if some:
        found.append(_differ(fleet, some))
        if fleet.odd:
            found.append(_odd(fleet))
    enough = several or [one for one in some if len(one.hosts) >= FEWEST_HOSTS]
    if enough:
        found.append(_enough(fleet, enough))
    return found


class _Costs(NamedTuple):
    """Seconds that it takes to begin and end a session, and to measure one block."""

    session: float
    block: float


def _costs(fleet: Fleet) -> _Costs | None:
    """Return what the last session took; None: it measured nothing."""
    # Blocks that were fetched with the end of their session took at most as long as both.
    some = [
        (host.session_s, host.block_s or host.measured_s / host.blocks)
        for host in fleet.record.hosts
        if host.blocks and host.session_s is not None
    ]
    if not some:
        return None
    session, block = zip(*some, strict=True)
    return _Costs(max(median(session), 1e-3), median(block))


def _enough(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say how many hosts, sessions and blocks know the mean host as well as matters."""
    margin, costs = fleet.experiment.margin, _costs(fleet)
    wanted = math.log1p(margin)
    needed = {
        one.what: allocated
        for one in some
        if costs is not None and one.sessions.apart and _half_width(one) > wanted
        if (allocated := _needed(one, wanted, costs)) is not None
    }
    answer = tuple(_enough_said(fleet, one, needed.get(one.what)) for one in some[:_MOST_SAID])
    question = message(
        "How many hosts and trials does ± {margin} take?", margin=Amount(margin, "share")
    )
    return _finding(fleet, "enough", question, answer, _allocations(fleet, some, needed))


def _finding(
    fleet: Fleet,
    name: str,
    question: Message,
    answer: Sequence[Message],
    *tables: Table,
    verdict: Answer = "none",
) -> Finding:
    """Return an answer that stands at the head as a whole; open where it has no verdict."""
    return Finding(
        name=name,
        basis=basis_said(fleet),
        question=question,
        closed=verdict != "none",
        verdict=verdict,
        answer=tuple(answer),
        summary=tuple(answer),
        tables=tables,
    )


def _enough_said(fleet: Fleet, one: Series, needed: Allocation | None) -> Message:
    now, wanted = _half_width(one), fleet.experiment.margin
    known: dict[str, Value] = {
        "cell": cell(fleet, one),
        "now": Amount(_share(now), "share"),
        "hosts": len(one.hosts),
        "margin": Amount(wanted, "share"),
    }
    if now <= math.log1p(wanted):
        return message(
            "{cell}: the mean of {hosts | counted('host')} is known to ± {now}, so no more "
            "is needed for ± {margin}",
            **known,
        )
    if needed is None:
        return message(
            "{cell}: the mean of {hosts | counted('host')} is known to ± {now}. What ± "
            "{margin} takes {% if apart %}is not known{% else %}can be said after a second "
            "session on each host: more trials in the file, then --resume{% endif %}",
            **known,
            apart=one.sessions.apart,
        )
    return message(
        "{cell}: the mean of {hosts | counted('host')} is known to ± {now}. By these "
        "estimates, ± {margin} takes in all {% if needed %}{needed | counted('host')}, "
        "{% endif %}{sessions | counted('session')} on each{% if not needed %} of them"
        "{% endif %} and {blocks | counted('block')} in each session: about {time} of "
        "machine time", **known,
        needed=None if needed.hosts == len(one.hosts) else needed.hosts,
        sessions=needed.sessions, blocks=needed.trials, time=Duration(needed.cost),
    )  # fmt: skip


def _needed(one: Series, half_width: float, costs: _Costs) -> Allocation | None:
    """Return what is enough with the hosts there are; or else the cheapest that is."""
    parts = one.components
    host, session, trial = (
        0.0 if part is None else part.sd**2 for part in (parts.host, parts.session, parts.trial)
    )
    variances, each = (host, session, trial), (0.0, costs.session, costs.block)
    there = allocation(variances, each, half_width, hosts=len(one.hosts))
    return there or allocation(variances, each, half_width)


def _half_width(one: Series) -> float:
    """Return how far the interval of the mean host reaches now."""
    return (one.everywhere.high - one.everywhere.low) / 2


def _allocations(fleet: Fleet, some: Sequence[Series], needed: Mapping[What, Allocation]) -> Table:
    return Table(
        id="enough",
        title=message("What it takes in all"),
        columns=(
            Column(key="cell", title="cell"),
            Column(key="to", title="relative to"),
            Column(key="now", title="± now", unit="share"),
            *(Column(key=key, title=key, unit="1") for key in ("hosts", "sessions", "blocks")),
            Column(key="time", title="machine time", unit="ns"),
        ),
        rows=tuple(
            {
                "cell": cell(fleet, one),
                "to": one.what.reference,
                "now": _share(_half_width(one)),
                **(_allocated(needed[one.what]) if one.what in needed else {}),
            }
            for one in some
        ),
    )


def _allocated(one: Allocation) -> dict[str, object]:
    return {
        "hosts": one.hosts,
        "sessions": one.sessions,
        "blocks": one.trials,
        "time": 1e9 * one.cost,
    }


def _everywhere(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say what each difference is on the mean host, and where it lies on the next one.

    Yes: the next host has it as well, as all have that were to measure it; no: nowhere is there one
    that matters.
    """
    found = [one.everywhere for one in some]
    margin = fleet.experiment.margin
    most = math.log1p(margin)
    holds = [one.next_low > 0 or one.next_high < 0 for one in found]
    small = [-most < one.next_low and one.next_high < most for one in found]
    answer, asked = [], len(fleet.hosts) + len(fleet.silent)
    for one, over, within in list(zip(some, found, small, strict=True))[:_MOST_SAID]:
        said = {"cell": cell(fleet, one), "reference": one.what.reference}
        answer.append(message(
            "{cell}: {ratio} relative to {reference}, mean of {% if of %}{hosts} of {of} "
            "hosts{% else %}{hosts | counted('host')}{% endif %}; on the next host {next}"
            "{% if margin %}, equivalent within ± {margin}{% endif %}",
            **said, **_over(over), hosts=len(one.hosts),
            of=None if len(one.hosts) == asked else asked,
            margin=Amount(margin, "share") if within else None,
        ))  # fmt: skip
        odd = [place for place, p in enumerate(_odd_p(fleet, one)) if p < ERROR]
        rest = one.without(odd) if odd else None
        if rest is not None:
            names = [fleet.hosts[one.hosts[place]] for place in odd]
            answer.append(
                message(
                    "{cell}, without {hosts | listing}: {ratio} relative to {reference}; on the "
                    "next host {next}",
                    **said,
                    **_over(rest),
                    hosts=names,
                )
            )
    whole = not fleet.lacking and all(len(one.hosts) == asked for one in fleet.ratios)
    return _finding(
        fleet, "everywhere", message(_QUESTION_EVERYWHERE), answer,
        _ratios(fleet, some, found), _by_host(fleet, some),
        verdict=_holds(holds, small) if whole else "inconclusive",
    )  # fmt: skip


def _above(fleet: Fleet) -> Finding:
    """Say on which hosts trials exceeded their time limit, and what is known of these cells."""
    answer = []
    for what, by_host in fleet.above.items():
        some = by_host.values()
        known = [one.ratio for one in some if one.ratio is not None]
        counts = Counter(TIMES.of(one.verdict) for one in known)
        answer.append(
            message(
                "{cell}{% if reference %} relative to {reference}{% endif %}: {killed} of "
                "{n | counted('block' if reference else 'trial')} exceeded {limit}, on "
                "{hosts | counted('host')}{% if verdicts %}; {verdicts | listing}{% endif %}",
                cell=called(fleet, what.levels),
                reference=what.reference,
                killed=sum(one.killed for one in some),
                n=sum(one.n for one in some),
                limit=Amount(min(one.limit_ns for one in some), "ns"),
                hosts=len(by_host),
                verdicts=[
                    message("{word} on {n}", word=word, n=count)
                    for word, count in counts.most_common()
                ],
            )
        )
    # Those relative to a reference answer what was asked.
    order = [*fleet.above]
    said = sorted(range(len(order)), key=lambda i: order[i].reference is None)
    return Finding(
        name="above",
        basis=basis_said(fleet),
        question=message("Which trials exceeded the time limit?"),
        closed=False,
        verdict="none",
        answer=tuple(answer[i] for i in said),
        summary=tuple(answer[i] for i in said[:_MOST_SAID]),
        tables=(_above_table(fleet),),
        caveats=(
            message(
                "where trials exceed the time limit, the mean of a host is not known: it is not "
                "among the means of hosts. A longer timeout settles it"
            ),
        ),
    )


def _above_table(fleet: Fleet) -> Table:
    heads: tuple[str | Column, ...] = (
        "host",
        "cell",
        Column(key="to", title="relative to"),
        Column(key="n", title="trials", unit="1"),
        Column(key="killed", title="exceeded the limit", unit="1"),
        "median",
        "ratio",
        "verdict",
    )
    rows = (
        (fleet.hosts[place], called(fleet, what.levels), what.reference, one.n, one.killed,
         one.median and Amount.of(one.median.estimate, "ns", one.median.low, one.median.high,
                                  one.median.above),
         one.ratio and Ratio.of(one.ratio.ratio, one.ratio.low, one.ratio.high),
         one.ratio and TIMES.of(one.ratio.verdict))
        for what, by_host in fleet.above.items()
        for place, one in by_host.items()
    )  # fmt: skip
    title = message("Cells with trials that exceeded the time limit, on each host")
    return Table.of(title, heads, rows, id="above")


def _on_each(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say what each difference is on each of two hosts, which say nothing of a third one."""
    answer = tuple(
        message(
            "{cell}, relative to {reference}: {hosts | join(', ')}",
            cell=cell(fleet, one),
            reference=one.what.reference,
            hosts=[
                message("{ratio} on {host}", host=fleet.hosts[host], ratio=ratio)
                for host, ratio in zip(one.hosts, _own_ratios(one), strict=True)
            ],
        )
        for one in some[:_MOST_SAID]
    )
    question, table = message(_QUESTION_EVERYWHERE), _by_host(fleet, some)
    return _finding(fleet, "everywhere", question, answer, table, verdict="inconclusive")


def _own_ratios(one: Series) -> list[Ratio]:
    """Return the ratio of each host, by its own trials."""
    t = student(max(one.sessions.beneath, 1), 0.95)
    parts = zip(one.components.level.tolist(), one.components.error.tolist(), strict=True)
    return [
        _ratio(level, level - t * math.sqrt(error), level + t * math.sqrt(error))
        for level, error in parts
    ]


def _holds(holds: Sequence[bool], small: Sequence[bool]) -> Answer:
    if all(holds):
        return "yes"
    # A small difference that holds is one.
    return "no" if all(small) and not any(holds) else "inconclusive"


def _over(one: Everywhere) -> dict[str, Ratio]:
    return {
        "ratio": _ratio(one.mean, one.low, one.high),
        "next": _ratio(one.mean, one.next_low, one.next_high),
    }


def _odd_p(fleet: Fleet, one: Series) -> Sequence[float]:
    return fleet.odd[one.what].p.tolist() if one.what in fleet.odd else ()


def _ratio(mean: float, low: float, high: float) -> Ratio:
    return Ratio(_factor(mean), _factor(low), _factor(high))


def basis_said(fleet: Fleet) -> str | None:
    """Return what is judged, where something is."""
    return None if isinstance(fleet.basis, Message) else str(fleet.basis)


def cell(fleet: Fleet, one: Series) -> Message:
    """Return how a cell is called."""
    return called(fleet, one.what.levels)


def called(fleet: Fleet, levels: CellLevels) -> Message:
    """Return how a cell is called: by the levels that are not the same in all."""
    own, cells = dict(levels), [dict(one) for one in fleet.levels]
    varied = [f for f in own if len({one[f] for one in cells}) > 1]
    return message("{levels}", levels=Levels({f: own[f] for f in varied or ["workload"]}))


def _ratios(fleet: Fleet, some: Sequence[Series], found: Sequence[Everywhere]) -> Table:
    split = [one.components for one in some]
    p = _adjusted(split)
    return Table(
        id="everywhere",
        title=message("Differences over all hosts"),
        columns=(
            Column(key="cell", title="cell"),
            Column(key="to", title="relative to"),
            Column(key="hosts", title="hosts", unit="1"),
            *interval_columns("ratio", "mean host", "ratio", "ratio_"),
            *interval_columns("next", "next host", "ratio", "next_"),
            *_spread_columns("host", split),
            Column(key="p", title="p (Holm)"),
        ),
        rows=tuple(
            {
                "cell": cell(fleet, one),
                "to": one.what.reference,
                "hosts": len(one.hosts),
                "ratio": _factor(over.mean),
                "ratio_low": _factor(over.low),
                "ratio_high": _factor(over.high),
                "next": _factor(over.mean),
                "next_low": _factor(over.next_low),
                "next_high": _factor(over.next_high),
                **_spread("host", split[place]),
                "p": p.get(place),
            }
            for place, (one, over) in enumerate(zip(some, found, strict=True))
        ),
    )


def _by_host(fleet: Fleet, some: Sequence[Series]) -> Table:
    """Return a row a host and cell: its own ratio, for the forest plot."""
    rows = []
    for one in some:
        name, trials = cell(fleet, one), np.bincount(one.sessions.host, one.sessions.n).tolist()
        for host, n, ratio in zip(one.hosts, trials, _own_ratios(one), strict=True):
            rows.append({
                "host": fleet.hosts[host],
                "cell": name,
                "to": one.what.reference,
                "trials": int(n),
                "ratio": ratio.value,
                "ratio_low": ratio.low,
                "ratio_high": ratio.high,
            })  # fmt: skip
    return Table(
        id="by_host",
        title=message("Differences on each host"),
        columns=(
            Column(key="host", title="host"),
            Column(key="cell", title="cell"),
            Column(key="trials", title="trials", unit="1"),
            *interval_columns("ratio", "ratio", "ratio", "ratio_"),
        ),
        rows=tuple(rows),
    )


def _differ(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say how much of the spread is of hosts, of sessions, and of trials."""
    split = [one.components for one in some]
    adjusted = _adjusted(split)
    margin = fleet.experiment.margin
    differs = any(p < ERROR for p in adjusted.values())
    small = len(adjusted) == len(split) and all(_high(one.host) < margin for one in split)
    # What answers the question with yes stands first.
    clearest = sorted(enumerate(some), key=lambda one: adjusted.get(one[0], 1.0) >= ERROR)
    answer = tuple(
        message(
            (
                "{cell}: hosts differ by an SD of {host} ({p}), sessions on one host by "
                "{session}{% if trial %}, trials of one session by {trial}{% endif %}"
            )
            if place in adjusted
            else (
                "{cell}: hosts{% if not trial %}, sessions and trials{% else %} and sessions"
                "{% endif %} together differ by an SD of {host}{% if trial %}, trials of one "
                "session by {trial}{% endif %}. A second session on each host would separate "
                "hosts from sessions"
            ),
            cell=cell(fleet, one),
            host=_amount(split[place].host),
            trial=_amount(split[place].trial),
            **(
                {
                    "session": _amount(split[place].session),
                    "p": p_value(adjusted[place]),
                }
                if place in adjusted
                else {}
            ),
        )
        for place, one in clearest[:_MOST_SAID]
    )
    return _finding(
        fleet, "differ", message("Do hosts differ?"), answer,
        _components(fleet, some, split, adjusted),
        verdict="yes" if differs else "no" if small else "inconclusive",
    )  # fmt: skip


def _adjusted(split: Sequence[Components]) -> dict[int, float]:
    """Return the probability that hosts are alike, by place, after Holm over all of these."""
    known = {place: one.p for place, one in enumerate(split) if one.p is not None}
    return dict(zip(known, holm([*known.values()]), strict=True))


def _high(one: Component) -> float:
    return math.inf if one.high is None else _share(one.high)


def _amount(one: Component | None) -> Amount | None:
    if one is None:
        return None
    low, high = (None if end is None else _share(end) for end in (one.low, one.high))
    return Amount(_share(one.sd), "share", low, high)


def _factor(log: float) -> float:
    return math.exp(min(log, _MOST_LOG))


def _share(log: float) -> float:
    """Return a difference of logarithms as a share; the largest number where it is larger."""
    return math.expm1(min(log, _MOST_LOG))


def _components(
    fleet: Fleet, some: Sequence[Series], split: Sequence[Components], p: dict[int, float]
) -> Table:
    rows = tuple(
        {
            "cell": cell(fleet, one),
            "hosts": len(one.hosts),
            "sessions": len(one.sessions.n),
            "trials": one.trials,
            **{key: value for name in _PARTS for key, value in _spread(name, parts).items()},
            "p": p.get(place),
        }
        for place, (one, parts) in enumerate(zip(some, split, strict=True))
    )
    return Table(
        id="components",
        title=message("Where the spread is from"),
        columns=(
            Column(key="cell", title="cell"),
            *(Column(key=key, title=key, unit="1") for key in ("hosts", "sessions", "trials")),
            *(column for name in _PARTS for column in _spread_columns(name, split)),
            Column(key="p", title="p (Holm)"),
        ),
        rows=rows,
    )


#: Levels of the variance components of trials.
_PARTS = ("host", "session", "trial")
#: Names of merged variance components, where each host has one session, or each session one trial.
_TOGETHER = {"together": "SD of hosts and sessions", "all": "SD of hosts, sessions, trials"}


def _spread(name: str, parts: Components) -> dict[str, object]:
    """Return the columns of one part of the spread."""
    amount = _amount(getattr(parts, name))
    if amount is None:
        return {}
    if name == "host" and parts.p is None:
        name = "all" if parts.trial is None else "together"
    return {name: amount.value, f"{name}_low": amount.low, f"{name}_high": amount.high}


def _spread_columns(name: str, split: Sequence[Components]) -> Iterator[Column]:
    there = {key for one in split for key in _spread(name, one)}
    for key, title in ((name, f"SD of {name}s"), *_TOGETHER.items()):
        if key in there:
            yield from interval_columns(key, title, "share", f"{key}_")


def _odd(fleet: Fleet) -> Finding:
    """Name the hosts that are none of the others."""
    some = odd_ones(fleet)
    # Where none is odd, the one that is furthest off, by how far it may be by chance.
    rest = [] if some else [max(_off(fleet), key=lambda one: one.off_by)]
    answer = (
        *(
            message(
                "{host}: {cell}{% if reference %} relative to {reference}{% endif %}, {off} off "
                "the mean of the others ({p})",
                **_off_said(one),
            )
            for one in some[:_MOST_SAID]
        ),
        *(
            message(
                "no host of {hosts} is shown to be odd. The furthest off is {host}: {cell}"
                "{% if reference %} relative to {reference}{% endif %}, {off} off the mean "
                "of the others ({p})",
                **_off_said(one),
                hosts=max(len(own.hosts) for own in fleet.cells),
            )
            for one in rest
        ),
    )
    return _finding(fleet, "odd", message("Which host is odd?"), answer, _odd_table(some or rest))


def _off_said(one: Off) -> dict[str, Value]:
    return {
        "host": one.host, "cell": one.cell, "reference": one.reference, "off": one.off,
        "p": p_value(one.p),
    }  # fmt: skip


def _odd_table(some: Sequence[Off]) -> Table:
    heads: tuple[str | Column, ...] = (
        "host",
        "cell",
        Column(key="to", title="relative to"),
        *interval_columns("off", "off by", "ratio", "off_"),
        Column(key="p", title="p (adjusted)"),
    )
    rows = (
        (one.host, one.cell, one.reference, one.off.value, one.off.low, one.off.high, one.p)
        for one in some
    )
    title = message("How far hosts are off the mean of the others")
    return Table.of(title, heads, rows, id="odd")


def odd_ones(fleet: Fleet) -> list[Off]:
    """Return which hosts are odd in which cells and ratios, over all of these."""
    return [one for one in _off(fleet) if one.p < ERROR]


def _off(fleet: Fleet) -> Iterator[Off]:
    for one in (*fleet.cells, *fleet.ratios):
        found = fleet.odd.get(one.what)
        if found is None:
            continue
        name = cell(fleet, one)
        for place in np.flatnonzero(np.isfinite(found.off)).tolist():
            off, half = float(found.off[place]), float(found.half[place])
            yield Off(
                fleet.hosts[one.hosts[place]], name, one.what.reference,
                _ratio(off, off - half, off + half), float(found.p[place]),
                abs(off) / half if half else 0.0,
            )  # fmt: skip


class Off(NamedTuple):
    """How far a host is from the others in a cell."""

    host: str
    cell: Message
    #: Denominator if the value is a ratio; None otherwise.
    reference: str | None
    #: Deviation with an interval that is adjusted over all hosts, cells and ratios, as ``p`` is.
    off: Ratio
    p: float
    #: Half widths of its interval.
    off_by: float
