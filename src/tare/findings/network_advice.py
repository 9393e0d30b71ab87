"""Which budgets matter to a program, who holds it up, and how to repeat it: advice in few lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.network_cells import Networks, applies, carried, networks_of
from tare.findings.network_course import courses
from tare.findings.network_dry import droughts
from tare.findings.network_need import FEWEST_TRIALS, Need, beside_largest, needs
from tare.findings.network_repetitions import remedy
from tare.findings.network_slowdown import nothing, slowdowns, too_few
from tare.findings.network_spending import CAVEATS, undecided
from tare.findings.network_spread import unknown
from tare.findings.telling import further
from tare.frames import Results
from tare.registry import Description
from tare.render.vocabulary import metric_name
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message
from tare.statistics.depletion import BOUND
from tare.units import change_interval, counted, percent, quantity

_DESCRIPTION = Description(
    name="network_advice",
    title="Budgets that matter, who runs dry first, and how to repeat the experiment",
    question="Which network does it need, and how is it repeated?",
    source="CLOUDNET, sections 4 and 5",
)
#: Lines of advice that are given, and those of them that one thing may take.
MOST_LINES = 6
_MOST_OF_ONE = 2


@dataclass(frozen=True)
class Line:
    """One piece of advice: what it is about, what to do or to know, and why."""

    about: str
    advice: str
    evidence: str
    #: Whether it says that something is inconclusive.
    open: bool = False

    def __str__(self) -> str:
        return f"{self.advice}: {self.evidence}."


def find(results: Results) -> Finding | None:
    """Advise on the budgets that were tried."""
    if not applies(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    lines = advise(networks)
    if not lines:
        return uncompared(_DESCRIPTION, nothing(networks))
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join(str(line) for line in lines),
        advice=tuple(str(line) for line in lines),
        verdict=settled(not line.open for line in lines),
        basis=str(networks.basis),
        tables=(_table(lines, networks),),
        caveats=CAVEATS if needs(networks) else (),
    )


def advise(networks: Networks) -> list[Line]:
    """Return at most six pieces of advice, the most important first."""
    parts = (
        _budgets(networks),
        _rates(networks),
        _stragglers(networks),
        _repetitions(networks),
        _unknown(networks),
        _open(networks),
    )
    return [line for part in parts for line in list(part)[:_MOST_OF_ONE]][:MOST_LINES]


def _budgets(networks: Networks) -> Iterable[Line]:
    """Say which budgets matter, of those that ran dry first."""
    for need in sorted(needs(networks), key=lambda n: n.short is None):
        sent = f"it sends {quantity(need.busiest.sent.estimate, 'bits')} a trial"
        if len(need.spendings[0].hosts) > 1:
            sent += f" from host {need.busiest.host}"
        if need.bits is not None and need.bits > 0:
            sent += f" and takes {quantity(need.bits, 'bits')} at most out of its bucket"
        where = f"For {need.ladder.where}, " if need.ladder.where else ""
        if carried(networks.results):
            yield Line("budget", _begun(where + _in_a_row(need, networks)), sent)
            continue
        told = _budget(need)
        if told is not None:
            shown, cost_open = _cost(need, networks)
            yield Line("budget", _begun(where + told), f"{sent}{shown}", open=cost_open)
        if waiting := need.of("open"):
            names = listing((s.rung.level.name for s in waiting), "or")
            advice = _begun(f"{where}whether {names} matters is inconclusive")
            yield Line("budget", advice, undecided(need, waiting[-1]), open=True)


def _budget(need: Need) -> str | None:
    """Say from which budget on none matters; None: nothing is known of any."""
    if need.bits is None:
        return "how large a budget has to be is not known"
    if need.enough is None and need.short is None:
        return None
    if need.enough is None:
        least = need.spendings[0].rung.level.name
        return f"no budget is known to be enough, {least} the largest of them"
    if need.short is None and not need.of("open"):
        return f"no budget that was tried matters, {need.enough.rung.level.name} the least of them"
    if need.bounded and (need.enough.rung.level.budget_bits or 0) > need.bits:
        return f"budgets above {quantity(need.bits, 'bits')} do not matter"
    return f"budgets from {need.enough.rung.level.name} on do not matter"


def _cost(need: Need, networks: Networks) -> tuple[str, bool]:
    """Say what the largest budget that runs dry costs, and whether that is inconclusive."""
    if need.short is None:
        return "" if need.of("open") else ", which none lacked", False
    short, n = need.short.rung.level, need.short.rung.n
    shown = f"; {short.name} runs dry in {need.short.dry} of {counted(n, 'trial')}"
    if need.bits is None:
        shown = f"; every budget ran dry, {short.name} in {need.short.dry} of {n}"
    beside = next((s for s in beside_largest(networks, need.ladder) if s.level == short), None)
    if beside is None:
        # The largest of all has none that shows what running dry costs.
        return shown, True
    if beside.slower:
        return f"{shown} and takes {beside.change} beside {beside.beside.name}", False
    word = "costs little" if beside.harmless else "its cost is inconclusive"
    return f"{shown} and {word}, {beside.change} beside {beside.beside.name}", not beside.harmless


def _in_a_row(need: Need, networks: Networks) -> str:
    """Tell for how many trials in a row each budget lasts."""
    told = []
    for spent in need.spendings:
        use = spent.rung.use
        dry = (use["times_dry"] > 0).groupby(use["trial"]).any().to_numpy()
        lasted = counted(int(dry.argmax()), "trial") if dry.any() else f"all {len(dry)}"
        told.append(f"{spent.rung.level.name} for {lasted}")
    rests = networks.results.experiment.network.rest != "none"
    rested = ", with a rest before each" if rests else ""
    return f"trials in a row that a budget lasts for{rested}: {listing(told)}"


def _rates(networks: Networks) -> Iterable[Line]:
    """Say what the high rate costs, where a bucket that never ran dry is slower than none."""
    full = {(id(n.ladder), n.enough.rung.level) for n in needs(networks) if n.enough is not None}
    for ladder in networks.ladders:
        here = [
            s
            for s in slowdowns(networks)
            if s.slower
            and s.beside == networks.reference
            and s.pair.levels == ladder.levels
            and (id(ladder), s.level) in full
        ]
        for s in here:
            where = f" for {ladder.where}" if ladder.where else ""
            yield Line(
                "rate",
                f"Its high rate alone slows it down{where}, however large the budget",
                f"{s.level.name} never ran dry, and takes {s.change} beside {s.beside.name}",
            )


def _stragglers(networks: Networks) -> Iterable[Line]:
    """Name the host that runs dry while the others do not."""
    some = [d for d in droughts(networks) if sum(h.times > 0 for h in d.hosts) == 1]
    for d in [d for d in some if len(d.hosts) > 1][:1]:
        host = max(d.hosts, key=lambda h: h.times)
        when = "" if host.first_ns is None else f", {quantity(host.first_ns, 'ns')} after its start"
        others = listing(f"host {h.host}" for h in d.hosts if h is not host)
        yield Line(
            "straggler",
            f"Host {host.host} runs dry, and {others} {'do' if len(d.hosts) > 2 else 'does'} not: "
            "to share what it sends, or to give it a larger budget, would help",
            f"at {d.name} it alone is dry in {d.alone} of {counted(d.rung.n, 'trial')}{when}",
            open=d.rung.n < FEWEST_TRIALS,
        )


def _repetitions(networks: Networks) -> Iterable[Line]:
    """Say whether more trials help."""
    found = courses(networks)
    drained = [c for c in found if c.state == "drained"]
    if drained:
        told = listing(f"{c.name} {c.ratio}" for c in drained)
        text = remedy(drained).rstrip(".")
        yield Line(
            "repetitions",
            text.replace(": rest", "; rest", 1).replace(": let", "; let", 1),
            f"trials that began with least take, beside those with most, {told}",
        )
    steady = [c for c in found if c.state == "steady" and c.rung.level.bucket is not None]
    few = f"those that began with least differ from the others by less than {percent(BOUND)}"
    alike = [c for c in steady if c.depletion is None]
    for some, why in (
        (alike, "each began with as much as the first"),
        ([c for c in steady if c.depletion is not None], few),
    ):
        if some:
            names = listing(c.name for c in some)
            yield Line("repetitions", f"More trials help at {names}", why)
    open_ = [c for c in found if c.state == "inconclusive" and c.rung.level.bucket is not None]
    if open_ and not drained:
        names = listing(c.name for c in open_)
        yield Line(
            "repetitions",
            f"Whether more trials help at {names} is inconclusive",
            f"{counted(min(c.rung.n for c in open_), 'trial')} in a row do not tell",
            open=True,
        )


def _unknown(networks: Networks) -> Iterable[Line]:
    """Warn of results without their budget, where the budget matters more than anything."""
    if carried(networks.results):
        return
    for x in map(unknown, networks.ladders):
        if x is not None and (x.range.low or 0) > max(BOUND, 2 * x.within):
            where = f" for {x.ladder.where}" if x.ladder.where else ""
            yield Line(
                "spread",
                f"Publish the budget with every result{where}",
                f"across those tried, run times vary by {percent(x.range.estimate)} (p10–p90); "
                f"within one, by at most {percent(x.within)}",
            )


def _open(networks: Networks) -> Iterable[Line]:
    """Say what the times do not decide, and what would."""
    some = slowdowns(networks)
    waiting = [s for s in some if not s.comparison.verdict.conclusive]
    if not waiting:
        return
    if missing := too_few(some):
        text = f"{missing[:1].lower()}{missing[1:].rstrip('.')}"
        yield Line("open", "By its times nothing is decided", text, open=True)
        return
    told = listing(
        f"{s.level.name} beside {s.beside.name} "
        f"{change_interval(s.comparison.ratio, s.comparison.low, s.comparison.high)}"
        for s in waiting[:3]
    )
    more = further([(s.pair, s.comparison) for s in waiting])
    advice = f"Inconclusive in {len(waiting)} of {len(some)} comparisons"
    yield Line("open", advice, told + more, open=True)


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(lines: list[Line], networks: Networks) -> Table:
    titles = {"about": "about", "advice": "advice", "evidence": "what it rests on"}
    return Table(
        title=f"Advice, by {metric_name(networks.basis.metric)}",
        columns=tuple(Column(key=key, title=title) for key, title in titles.items()),
        rows=tuple({key: getattr(line, key) for key in titles} for line in lines),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=6, find=find)
