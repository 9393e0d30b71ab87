"""What a fleet says: how much hosts differ, which is odd, whether a difference holds on all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from tare.features.fleet.results import Fleet, Series
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Amount, Duration, Levels, Message, Ratio, message
from tare.statistics.comparison import holm
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

#: Cells that have sentences of their own; tables have all.
_MOST_SAID = 4
#: Hosts from which on it can be said that one is odd, and what holds for the next.
FEWEST_ODD, FEWEST_NEXT = 4, FEWEST_HOSTS
#: Probability that any host is called odd, or hosts are said to differ, where they do not.
ERROR = 0.05


def findings(fleet: Fleet) -> list[Finding]:
    """Return the answers in reading order: of what is compared first, where something is."""
    several = [one for one in fleet.ratios if len(one.hosts) >= FEWEST_NEXT]
    found = [_everywhere(fleet, several)] if several else []
    some = [one for one in fleet.cells if len(one.hosts) > 1]
    if some:
        found.append(_differ(fleet, some))
        if any(len(one.hosts) >= FEWEST_ODD for one in some):
            found.append(_odd(fleet))
    enough = several or [one for one in some if len(one.hosts) >= FEWEST_NEXT]
    costs = _costs(fleet)
    if enough and costs is not None:
        found += _enough(fleet, enough, costs)
    return found


class _Costs(NamedTuple):
    """Seconds that it takes to begin and end a session, and to measure one block."""

    session: float
    block: float


def _costs(fleet: Fleet) -> _Costs | None:
    """Return what the last session took; None: it measured nothing."""
    some = [
        (host.session_s, host.block_s)
        for host in fleet.record.hosts
        if host.block_s and host.session_s is not None
    ]
    if not some:
        return None
    session, block = zip(*some, strict=True)
    return _Costs(max(median(session), 1e-3), median(block))


def _enough(fleet: Fleet, some: Sequence[Series], costs: _Costs) -> Iterator[Finding]:
    """Say how many hosts, sessions and blocks know the mean host as well as matters."""
    margin = fleet.experiment.margin
    found = [(one, _needed(one, margin, costs)) for one in some]
    needed = [(one, allocated) for one, allocated in found if allocated is not None]
    answer = tuple(
        message(
            "fleet.enough" if allocated.hosts == len(one.hosts) else "fleet.more",
            cell=cell(fleet, one), margin=Amount(margin, "share"), hosts=allocated.hosts,
            sessions=allocated.sessions, blocks=allocated.trials,
            time=Duration(allocated.cost), floor=_amount_of(_half_width(one)),
            now=len(one.hosts),
        )
        for one, allocated in needed[:_MOST_SAID]
    )  # fmt: skip
    if needed:
        yield Finding(
            name="enough",
            basis=basis_said(fleet),
            question=message("fleet.question.enough", margin=Amount(margin, "share")),
            closed=False,
            verdict="none",
            answer=answer,
            summary=answer,
            tables=(_allocations(fleet, needed),),
        )


def _needed(one: Series, margin: float, costs: _Costs) -> Allocation | None:
    """Return what reaches a margin with the hosts there are; or else the cheapest that does."""
    parts = one.components
    host, session, trial = (
        0.0 if part is None else part.sd**2 for part in (parts.host, parts.session, parts.trial)
    )
    # A host more costs a start of its own as well.
    each = (costs.session, costs.session, costs.block)
    variances, wanted = (host, session, trial), math.log1p(margin)
    now = len(one.hosts)
    return allocation(variances, each, wanted, hosts=now) or allocation(variances, each, wanted)


def _half_width(one: Series) -> float:
    """Return how far the interval of the mean host reaches now."""
    return (one.everywhere.high - one.everywhere.low) / 2


def _amount_of(log: float) -> Amount:
    return Amount(math.expm1(log), "share")


def _allocations(fleet: Fleet, needed: Sequence[tuple[Series, Allocation]]) -> Table:
    return Table(
        id="enough",
        title=message("fleet.table.enough"),
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
                "now": math.expm1(_half_width(one)),
                "hosts": allocated.hosts,
                "sessions": allocated.sessions,
                "blocks": allocated.trials,
                "time": 1e9 * allocated.cost,
            }
            for one, allocated in needed
        ),
    )


def _everywhere(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say what each difference is on the mean host, and where it lies on the next one.

    Yes: the next host has it as well; no: nowhere is there one that matters.
    """
    split = [one.components for one in some]
    found = [one.everywhere for one in some]
    margin = fleet.experiment.margin
    most = math.log1p(margin)
    holds = [one.next_low > 0 or one.next_high < 0 for one in found]
    # A small difference that holds is one.
    same = [
        not held and -most < one.next_low and one.next_high < most
        for one, held in zip(found, holds, strict=True)
    ]
    answer = tuple(
        message(
            "fleet.everywhere",
            cell=cell(fleet, one),
            reference=one.what.reference,
            ratio=_ratio(over.mean, over.low, over.high),
            next=_ratio(over.mean, over.next_low, over.next_high),
            hosts=len(one.hosts),
            margin=Amount(margin, "share") if alike else None,
        )
        for one, over, alike in list(zip(some, found, same, strict=True))[:_MOST_SAID]
    )
    return Finding(
        name="everywhere",
        basis=basis_said(fleet),
        question=message("fleet.question.everywhere"),
        verdict="yes" if all(holds) else "no" if all(same) else "inconclusive",
        answer=answer,
        summary=answer,
        tables=(_ratios(fleet, some, found), _by_host(fleet, some, split)),
    )


def _ratio(mean: float, low: float, high: float) -> Ratio:
    return Ratio(math.exp(mean), math.exp(low), math.exp(high))


def basis_said(fleet: Fleet) -> str | None:
    """Return what is judged, where something is."""
    return None if isinstance(fleet.basis, Message) else str(fleet.basis)


def cell(fleet: Fleet, one: Series) -> Message:
    """Return how a cell is called: by the levels that are not the same in all."""
    levels = dict(one.what.levels)
    cells = [dict(own.levels) for host in fleet.values[:1] for own in host.summary.cells]
    varied = [f for f in levels if len({own[f] for own in cells}) > 1]
    return message("fleet.cell", levels=Levels({f: levels[f] for f in varied or ["workload"]}))


def _ratios(fleet: Fleet, some: Sequence[Series], found: Sequence[Everywhere]) -> Table:
    return Table(
        id="everywhere",
        title=message("fleet.table.everywhere"),
        columns=(
            Column(key="cell", title="cell"),
            Column(key="to", title="relative to"),
            Column(key="hosts", title="hosts", unit="1"),
            *interval_columns("ratio", "mean host", "ratio", "ratio_"),
            Column(key="sd", title="SD of hosts", unit="share"),
            *interval_columns("next", "next host", "ratio", "next_"),
        ),
        rows=tuple(
            {
                "cell": cell(fleet, one),
                "to": one.what.reference,
                "hosts": len(one.hosts),
                "ratio": math.exp(over.mean),
                "ratio_low": math.exp(over.low),
                "ratio_high": math.exp(over.high),
                "sd": math.expm1(over.sd),
                "next": math.exp(over.mean),
                "next_low": math.exp(over.next_low),
                "next_high": math.exp(over.next_high),
            }
            for one, over in zip(some, found, strict=True)
        ),
    )


def _by_host(fleet: Fleet, some: Sequence[Series], split: Sequence[Components]) -> Table:
    """Return a row a host and cell: its own ratio, for the forest plot."""
    rows = []
    for one, parts in zip(some, split, strict=True):
        own = one.sessions
        known = len(own.n) - own.hosts if own.apart else int((own.n - 1).sum())
        for place, host in enumerate(one.hosts):
            half = student(max(known, 1), 0.95) * math.sqrt(float(parts.error[place]))
            level = float(parts.level[place])
            rows.append({
                "host": fleet.hosts[host],
                "cell": cell(fleet, one),
                "to": one.what.reference,
                "ratio": math.exp(level),
                "ratio_low": math.exp(level - half),
                "ratio_high": math.exp(level + half),
            })  # fmt: skip
    return Table(
        id="by_host",
        title=message("fleet.table.by_host"),
        columns=(
            Column(key="host", title="host"),
            Column(key="cell", title="cell"),
            *interval_columns("ratio", "ratio", "ratio", "ratio_"),
        ),
        rows=tuple(rows),
    )


def _differ(fleet: Fleet, some: Sequence[Series]) -> Finding:
    """Say how much of the spread is of hosts, of sessions, and of trials."""
    split = [one.components for one in some]
    known = [place for place, one in enumerate(split) if one.p is not None]
    adjusted = dict(zip(known, holm([split[place].p or 0.0 for place in known]), strict=True))
    margin = fleet.experiment.margin
    differs = any(p < ERROR for p in adjusted.values())
    small = len(known) == len(split) and all(_high(one.host) < margin for one in split)
    answer = tuple(
        message(
            "fleet.differ" if place in adjusted else "fleet.together",
            cell=cell(fleet, one),
            host=_amount(split[place].host),
            session=_amount(split[place].session),
            trial=_amount(split[place].trial),
            p=p_value(adjusted[place]) if place in adjusted else None,
        )
        for place, one in enumerate(some[:_MOST_SAID])
    )
    return Finding(
        name="differ",
        basis=basis_said(fleet),
        question=message("fleet.question.differ"),
        verdict="yes" if differs else "no" if small else "inconclusive",
        answer=answer,
        summary=answer,
        tables=(_components(fleet, some, split, adjusted),),
    )


def _high(one: Component) -> float:
    return math.inf if one.high is None else math.expm1(one.high)


def _amount(one: Component | None) -> Amount | None:
    if one is None:
        return None
    low, high = (None if end is None else math.expm1(end) for end in (one.low, one.high))
    return Amount(math.expm1(one.sd), "share", low, high)


def _components(
    fleet: Fleet, some: Sequence[Series], split: Sequence[Components], p: dict[int, float]
) -> Table:
    names = ("host", "session", "trial")
    rows = []
    for place, (one, parts) in enumerate(zip(some, split, strict=True)):
        row: dict[str, object] = {
            "cell": cell(fleet, one),
            "hosts": len(one.hosts),
            "sessions": len(one.sessions.n),
            "trials": one.trials,
            "p": p.get(place),
        }
        for name in names:
            if (amount := _amount(getattr(parts, name))) is not None:
                row |= {name: amount.value, f"{name}_low": amount.low, f"{name}_high": amount.high}
        rows.append(row)
    return Table(
        id="components",
        title=message("fleet.table.components"),
        columns=(
            Column(key="cell", title="cell"),
            *(Column(key=key, title=key, unit="1") for key in ("hosts", "sessions", "trials")),
            *(c for n in names for c in interval_columns(n, f"SD of {n}s", "share", f"{n}_")),
            Column(key="p", title="p (Holm)"),
        ),
        rows=tuple(rows),
    )


def _odd(fleet: Fleet) -> Finding:
    """Name the hosts that are none of the others."""
    said = [
        message(
            "fleet.odd.one" if one.reference is None else "fleet.odd.ratio",
            host=one.host, cell=one.cell, off=one.off, p=p_value(one.p),
            **({} if one.reference is None else {"reference": one.reference}),
        )
        for one in odd_ones(fleet)
    ]  # fmt: skip
    answer = tuple(said[:_MOST_SAID]) or (_none_odd(fleet),)
    return Finding(
        name="odd",
        basis=basis_said(fleet),
        question=message("fleet.question.odd"),
        closed=False,
        verdict="none",
        answer=answer,
        summary=answer,
    )


def odd_ones(fleet: Fleet) -> list[Off]:
    """Return which hosts are odd in which cells and ratios, over all of these."""
    return [one for one in _off(fleet) if one.p < ERROR]


def _none_odd(fleet: Fleet) -> Message:
    """Name the host that is furthest off, by how far it may be by chance."""
    furthest = max(_off(fleet), key=lambda one: one.off_by)
    return message(
        "fleet.odd.none",
        hosts=max(len(one.hosts) for one in fleet.cells), host=furthest.host, cell=furthest.cell,
        off=furthest.off, reference=furthest.reference,
    )  # fmt: skip


def _off(fleet: Fleet) -> Iterator[Off]:
    some = [one for one in (*fleet.cells, *fleet.ratios) if len(one.hosts) >= FEWEST_ODD]
    for one in some:
        name = cell(fleet, one)
        for host, off, half, p in zip(
            one.hosts, *(a.tolist() for a in (one.odd.off, one.odd.half, one.odd.p)), strict=True
        ):
            if not math.isnan(off):
                yield Off(
                    fleet.hosts[host], name, one.what.reference,
                    _ratio(off, off - half, off + half), len(some) * p,
                    abs(off) / half if half else 0.0,
                )  # fmt: skip


class Off(NamedTuple):
    """How far a host is from the others in a cell."""

    host: str
    cell: Message
    #: Of a ratio, what the cell is relative to.
    reference: str | None
    off: Ratio
    #: Over all cells and ratios.
    p: float
    #: Half widths of its interval.
    off_by: float
