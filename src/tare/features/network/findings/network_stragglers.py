"""Which host was depleted, when, and whether trials took longer: CLOUDNET's Figure 18."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.experiment.findings.evidence import share_estimate
from tare.experiment.findings.finding import FindingUnit, settled
from tare.experiment.findings.network_cells import Networks, over_networks
from tare.features.network.findings.dry import Dry, DryHost, droughts
from tare.features.network.findings.need import FEWEST_TRIALS, Fall, falls_of
from tare.registry import Description
from tare.results import phrases
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Message, message
from tare.statistics.intervals import share_interval
from tare.units import p_value

_DESCRIPTION = Description(
    name="network_stragglers",
    title="Hosts whose buckets were depleted: when, for how long, and what the trial took",
    question="Which host slows the others?",
    source="CLOUDNET, Figure 18",
)
_ERROR = 0.05
#: Least gain of a bucket before a trial that is reported, relative to the initial budget and to the
#: tokens taken.
_GAINED, _MATTERS = 0.5, 0.25


def _judge(networks: Networks) -> Finding | Message | None:
    """Find which hosts were depleted at which level, and whether trials took longer for it."""
    found = droughts(networks)
    if not found:
        return message("no level has a bucket that could be depleted")
    dry = [d for d in found if d.any]
    refilled = [(d, said) for d in found if (said := _refilled(d)) is not None]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=(
            *(said for d in dry for said in (hosts_said(d), _effect(d))),
            *_never(found),
            *(said for _, said in refilled),
        ),
        # What stands at the head: the one that is depleted while the others are not.
        # A host that is meant to begin with less, and does not send with less, answers nothing.
        summary=(
            *tuple(hosts_said(d) for d in dry if sum(h.times > 0 for h in d.hosts) == 1)[:1],
            *(said for d, said in refilled if d.rung.level.uneven),
        ),
        # Who was depleted in few trials says little of others; whether it takes time may be open.
        verdict=settled(
            [all(d.rung.n >= FEWEST_TRIALS for d in found), *(_decided(d) for d in dry)]
        ),
        settle=_settle(found, dry),
        basis=str(networks.basis),
        estimates=tuple(e for d in found for e in _estimates(d)),
        tables=(_host_table(found), *_following_table(found, networks)),
        caveats=(
            message(
                "the correlation within a level does not prove a cause: a longer trial can also "
                "be depleted for longer. A difference between levels does, as they run in random "
                "order"
            ),
        )
        if any(d.following and d.p <= _ERROR for d in dry)
        else (),
    )


def _settle(found: Sequence[Dry], dry: Sequence[Dry]) -> Message | None:
    """Say what would settle it; None: nothing is inconclusive."""
    if any(d.rung.n < FEWEST_TRIALS for d in found):
        return message(phrases.SETTLE_TRIALS, trials=FEWEST_TRIALS)
    return None if all(map(_decided, dry)) else message(phrases.SETTLE_MORE)


def hosts_said(d: Dry) -> Message:
    """Say of one level which host was depleted, when, and for how long."""
    hosts = [h for h in d.hosts if h.times]
    others = [h.host for h in d.hosts if not h.times]
    return message(
        "at {level}, {hosts | join('; ')}{% if others %}; {others | listing} never{% endif %}"
        "{% if alone %}; only one of them in {alone | counted('trial')}{% endif %}",
        level=d.level,
        hosts=[_host(h, d.rung.n) for h in hosts],
        others=[message("host {host}", host=host) for host in others] if len(hosts) == 1 else None,
        alone=d.alone if len(hosts) > 1 else None,
    )


def _host(h: DryHost, n: int) -> Message:
    return message(
        "host {host} is depleted in {times} of {trials | counted('trial')} ({share})"
        "{% if first %}, first after {first}{% endif %}{% if duration %}, for {duration}"
        "{% endif %}{% if spells %} in {spells | counted('period')}{% endif %}",
        host=h.host,
        times=h.times,
        trials=n,
        share=Amount(h.times / n, "share", *share_interval(h.times, n)),
        first=None if h.first_ns is None else Amount(h.first_ns, "ns"),
        duration=None if h.dry_ns is None else Amount(h.dry_ns, "ns"),
        spells=round(h.spells) if h.spells and h.spells >= 1.5 else None,
    )


def _decided(d: Dry) -> bool:
    """Whether it is known if trials take longer the longer they are depleted."""
    if d.following is None:
        return False
    return (d.p <= _ERROR and d.slope is not None) or (d.high is not None and d.high < 0)


def _effect(d: Dry) -> Message:
    """Say whether longer depletion went with longer trials."""
    if d.following is None:
        return message(
            "trials are too few, or too similar, to correlate the time depleted with the duration"
        )
    correlation = d.following.correlation
    if not _decided(d):
        return message(
            "inconclusive whether trials take longer the longer a host is depleted (rank "
            "correlation {correlation}, {p})",
            correlation=correlation,
            p=p_value(d.p),
        )
    if d.p <= _ERROR and d.slope is not None:
        return message(
            "trials take {slope} longer for each second that a host is depleted (rank "
            "correlation {correlation}, {p})",
            slope=Amount(d.slope, "s", d.low, d.high),
            correlation=correlation,
            p=p_value(d.p),
        )
    return message(
        "trials do not take longer the longer a host is depleted (rank correlation {correlation})",
        correlation=correlation,
    )


def _refilled(d: Dry) -> Message | None:
    """Name the host whose bucket has refilled most before it is asked for; None: none has."""
    falls: dict[int, list[Fall]] = {}
    for fall in falls_of(d.rung):
        falls.setdefault(fall.host, []).append(fall)
    gained = []
    for host, each in falls.items():
        began, held, taken = (
            float(np.median([getattr(fall, name) for fall in each]))
            for name in ("began", "held", "taken")
        )
        if held - began > max(_GAINED * began, _MATTERS * taken):
            gained.append((held - began, host, began, held))
    if not gained:
        return None
    _, host, began, held = max(gained)
    return message(
        "at {level}, host {host} begins with {began} and has {held} when it sends most: its "
        "bucket refills until then. Give refill= a lower rate, if it is to have less",
        level=d.level,
        host=host,
        began=Amount(began, "bits"),
        held=Amount(held, "bits"),
    )


def _never(found: Sequence[Dry]) -> Iterator[Message]:
    never = [d.level for d in found if not d.any]
    if never:
        yield message("no host is depleted at {levels | listing}", levels=never)


def _estimates(d: Dry) -> Iterator[Estimate]:
    name, trials = "share of trials in which it was depleted", d.rung.trials["trial"]
    for h in d.hosts:
        levels = {**d.rung.cell.levels, "host": str(h.host)}
        yield share_estimate(name, levels, h.times, d.rung.n, trials)


def _host_table(found: Sequence[Dry]) -> Table:
    several = any(d.ladder.where for d in found)
    heads: list[str | Column] = [
        *([Column(key="where", title="where")] if several else []),
        Column(key="level", title="network"),
        Column(key="host", title="host"),
        Column(key="n", title="trials"),
        Column(key="times", title="trials depleted"),
        *interval_columns("share", "share of trials", "1", "share_"),
        Column(key="first", title="first after", unit="ns"),
        Column(key="dry", title="depleted for", unit="ns"),
        Column(key="spells", title="times depleted in a trial", unit="1"),
    ]
    rows = (
        (*([d.ladder.where] if several else []), d.rung.level.name, str(h.host), d.rung.n,
         h.times, h.times / d.rung.n, *share_interval(h.times, d.rung.n), h.first_ns, h.dry_ns,
         h.spells)
        for d in found
        for h in d.hosts
    )  # fmt: skip
    note = "Medians over the trials in which the bucket was depleted."
    return Table.of(message("Hosts whose buckets were depleted"), heads, rows, note)


def _following_table(found: Sequence[Dry], networks: Networks) -> Iterator[Table]:
    rows = [
        (d.name, d.rung.n, d.alone, d.following.correlation, d.p, d.slope, d.low, d.high)
        for d in found
        if d.following is not None
    ]
    if rows:
        heads: list[str | Column] = [
            Column(key="level", title="network"),
            Column(key="n", title="trials"),
            Column(key="alone", title="trials with only one host depleted"),
            Column(key="correlation", title="rank correlation", unit="1"),
            Column(key="p", title="p (Holm)", unit="1"),
            *interval_columns("slope", "longer for each second depleted", "1", "slope_"),
        ]
        note = message(
            "By {basis}. p: one-sided, that trials take longer. Line: Theil–Sen",
            basis=str(networks.basis),
        )
        yield Table.of(message("Duration of trials by time depleted"), heads, rows, note)


UNIT = FindingUnit(description=_DESCRIPTION, order=11, find=over_networks(_DESCRIPTION, _judge))
