"""Which host ran dry, when, for how long, and whether trials took longer: CLOUDNET's Figure 18."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.network_cells import Networks, applies, networks_of
from tare.findings.network_dry import Dry, DryHost, droughts
from tare.findings.network_need import FEWEST_TRIALS
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Message
from tare.statistics.shares import share_interval
from tare.units import counted, p_value, percent, quantity, significant

_DESCRIPTION = Description(
    name="network_stragglers",
    title="Hosts whose buckets ran dry: when, for how long, and what the trial took",
    question="Which host holds the others up?",
    source="CLOUDNET, Figure 18",
)
_ERROR = 0.05


def find(results: Results) -> Finding | None:
    """Tell which hosts ran dry at which level, and whether trials took longer for it."""
    if not applies(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    found = droughts(networks)
    if not found:
        return uncompared(_DESCRIPTION, "No level has a bucket that could run dry.")
    dry = [d for d in found if d.any]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join([*(sentence(d) for d in dry), *_never(found)]),
        # Who ran dry in few trials says little of others; whether it takes time may be open.
        verdict=settled(
            [all(d.rung.n >= FEWEST_TRIALS for d in found), *(_decided(d) for d in dry)]
        ),
        basis=str(networks.basis),
        estimates=tuple(e for d in found for e in _estimates(d)),
        tables=(_host_table(found), *_following_table(found, networks)),
        caveats=(_CAUSE,) if any(d.following and d.p <= _ERROR for d in dry) else (),
    )


_CAUSE = (
    "That dry time goes with the duration within a level is no proof that it causes it, as a "
    "longer trial can also be dry for longer; that levels come in random order, and differ, is."
)


def sentence(d: Dry) -> str:
    """Tell of one level which host ran dry, when, for how long, and what it did to the trial."""
    n = d.rung.n
    hosts = [h for h in d.hosts if h.times]
    told = [f"At {d.name} {listing(_host_clause(h, n) for h in hosts)}"]
    wet = [str(h.host) for h in d.hosts if not h.times]
    if wet and len(hosts) == 1:
        told[0] += f", and host{'s' if len(wet) > 1 else ''} {listing(wet)} never did"
    elif d.alone:
        told[0] += f"; in {counted(d.alone, 'trial')} only one of them"
    told[0] += "."
    told += _effect(d)
    return " ".join(told)


def _host_clause(h: DryHost, n: int) -> str:
    low, high = share_interval(h.times, n)
    when = f", first after {quantity(h.first_ns, 'ns')}" if h.first_ns is not None else ""
    spells = f" in {counted(round(h.spells), 'spell')}" if h.spells and h.spells >= 1.5 else ""
    return (
        f"host {h.host} ran dry in {h.times} of {counted(n, 'trial')} "
        f"[{percent(low)}, {percent(high)}]{when}, for {quantity(h.dry_ns, 'ns')}{spells}"
    )


def _decided(d: Dry) -> bool:
    """Tell whether it is known if trials take longer the longer they are dry."""
    if d.following is None:
        return False
    return (d.p <= _ERROR and d.slope is not None) or (d.high is not None and d.high < 0)


def _effect(d: Dry) -> Iterator[str]:
    """Tell whether longer dry times went with longer trials."""
    if d.following is None:
        yield "Its trials are too few, or too alike, to tell whether dry time goes with duration."
        return
    rho = significant(d.following.correlation, 2)
    if not _decided(d):
        yield (
            "Whether trials took longer the longer it was dry is inconclusive (rank correlation "
            f"{rho}, {p_value(d.p)})."
        )
    elif d.p <= _ERROR and d.slope is not None:
        bounds = f"{significant(d.low or 0, 2)}, {significant(d.high or 0, 2)}"
        yield (
            f"Trials took {significant(d.slope, 2)} s [{bounds}] longer for each second that it "
            f"was dry (rank correlation {rho}, {p_value(d.p)})."
        )
    else:
        yield f"Trials did not take longer the longer it was dry (rank correlation {rho})."


def _never(found: Sequence[Dry]) -> Iterator[str]:
    never = [d.name for d in found if not d.any]
    if never:
        every = "No host ran dry" if len(never) == len(found) else "None ran dry"
        yield f"{every} at {listing(never)}."


def _estimates(d: Dry) -> Iterator[Estimate]:
    trials = tuple(int(t) for t in d.rung.trials["trial"])
    for h in d.hosts:
        low, high = share_interval(h.times, d.rung.n)
        yield Estimate(
            name="share of trials in which it ran dry",
            levels={**d.rung.cell.levels, "host": str(h.host)},
            value=h.times / d.rung.n,
            unit="1",
            low=low,
            high=high,
            confidence=0.95,
            method="Clopper–Pearson",
            n=d.rung.n,
            trials=trials,
        )


def _host_table(found: Sequence[Dry]) -> Table:
    several = any(d.ladder.where for d in found)
    rows = []
    for d in found:
        for h in d.hosts:
            low, high = share_interval(h.times, d.rung.n)
            rows.append(
                {
                    "where": d.ladder.where,
                    "level": d.rung.level.name,
                    "host": str(h.host),
                    "n": d.rung.n,
                    "times": h.times,
                    "share": h.times / d.rung.n,
                    "share_low": low,
                    "share_high": high,
                    "first": h.first_ns,
                    "dry": h.dry_ns,
                    "spells": h.spells,
                }
            )
    return Table(
        title="Hosts that ran dry",
        columns=(
            *((Column(key="where", title="where"),) if several else ()),
            Column(key="level", title="network"),
            Column(key="host", title="host"),
            Column(key="n", title="trials"),
            Column(key="times", title="trials in which it ran dry"),
            Column(key="share", title="share of trials", unit="1"),
            Column(key="share_low", title="from", unit="1"),
            Column(key="share_high", title="to", unit="1"),
            Column(key="first", title="first after", unit="ns"),
            Column(key="dry", title="dry for", unit="ns"),
            Column(key="spells", title="times dry in a trial", unit="1"),
        ),
        rows=tuple(rows),
        note="Medians over the trials in which it ran dry.",
    )


def _following_table(found: Sequence[Dry], networks: Networks) -> Iterator[Table]:
    known = [d for d in found if d.following is not None]
    if known:
        yield Table(
            title="Whether trials took longer the longer a host was dry",
            columns=(
                Column(key="level", title="network"),
                Column(key="n", title="trials"),
                Column(key="alone", title="trials with only one host dry"),
                Column(key="correlation", title="rank correlation", unit="1"),
                Column(key="p", title="p after Holm", unit="1"),
                Column(key="slope", title="longer for each second dry", unit="1"),
                Column(key="slope_low", title="from", unit="1"),
                Column(key="slope_high", title="to", unit="1"),
            ),
            rows=tuple(
                {
                    "level": d.name,
                    "n": d.rung.n,
                    "alone": d.alone,
                    "correlation": d.following.correlation if d.following else None,
                    "p": d.p,
                    "slope": d.slope,
                    "slope_low": d.low,
                    "slope_high": d.high,
                }
                for d in known
            ),
            note=f"By {networks.basis}; one-sided p, that they took longer; Theil–Sen line.",
        )


UNIT = FindingUnit(description=_DESCRIPTION, order=11, find=find)
