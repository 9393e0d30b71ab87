"""Which budgets matter to a program, which host limits it, and how to repeat it: short advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tare.experiment.findings.cells import verdict_words
from tare.experiment.findings.comparison_summary import more
from tare.experiment.findings.finding import FindingUnit, settled, uncompared
from tare.experiment.findings.network_cells import Networks, applies, carried, networks_of
from tare.experiment.results import Results
from tare.features.network.findings.depletion import courses
from tare.features.network.findings.dry import droughts
from tare.features.network.findings.need import FEWEST_TRIALS, Need, needs, slowdowns_vs_largest
from tare.features.network.findings.network_repetitions import changes, remedy
from tare.features.network.findings.network_slowdown import nothing, slowdowns, too_few
from tare.features.network.findings.network_spending import CAVEATS, why_open
from tare.features.network.findings.network_spread import across, unknown
from tare.registry import Description
from tare.render.words import text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.depletion import BOUND
from tare.units import chosen

_DESCRIPTION = Description(
    name="network_advice",
    title="Budgets that matter, hosts that are depleted first, and how to repeat the experiment",
    question="Which network does it need, and how is it repeated?",
    source="CLOUDNET, sections 4 and 5",
)
#: Lines of advice that are given, and those of them that one thing may take.
MOST_LINES = 6
_MOST_OF_ONE = 2
#: Inconclusive comparisons that a line names.
_MOST_WAITING = 3


@dataclass(frozen=True)
class Line:
    """One piece of advice: what it is about, what to do or to know, and why."""

    about: str
    advice: Message
    evidence: Message
    #: Whether it says that something is inconclusive.
    open: bool = False

    @property
    def said(self) -> Message:
        """The advice with its evidence."""
        return message("network_advice.line", advice=self.advice, evidence=self.evidence)


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
        answer=tuple(line.said for line in lines),
        advice=tuple(line.said for line in lines),
        verdict=settled(not line.open for line in lines),
        settle=_settle(networks),
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
    """Say which budgets matter, of those that were depleted first."""
    for need in sorted(needs(networks), key=lambda n: n.short is None):
        if carried(networks.results):
            yield Line("budget", _for(need, _in_a_row(need, networks)), _sends(need, None))
            continue
        budget = _budget(need)
        if budget is not None:
            cost, cost_open = _cost(need, networks)
            yield Line("budget", _for(need, budget), _sends(need, cost), open=cost_open)
        if waiting := need.of("open"):
            names = [s.rung.level.name for s in waiting]
            advice = _for(need, message("network_advice.budget_open", levels=names))
            yield Line("budget", advice, why_open(need, waiting[-1]), open=True)


def _for(need: Need, said: Message) -> Message:
    return message("network_advice.for", where=need.ladder.at, said=said)


def _sends(need: Need, cost: Message | None) -> Message:
    """Say what a trial sends and takes, and what budgets below that cost."""
    one = need.busiest
    return message(
        "network_advice.sends",
        sent=Amount(one.sent.estimate, "bits"),
        host=one.host if len(need.spendings[0].hosts) > 1 else None,
        taken=Amount(need.bits, "bits") if need.bits is not None and need.bits > 0 else None,
        cost=cost,
    )


def _budget(need: Need) -> Message | None:
    """Say from which budget on none matters; None: nothing is known of any."""
    if need.bits is None:
        return message("network_advice.size_open")
    if need.enough is None and need.short is None:
        return None
    if need.enough is None:
        return message("network_advice.none_enough", level=need.spendings[0].rung.level.name)
    enough = need.enough.rung.level
    if need.short is None and not need.of("open"):
        return message("network_advice.none_matters", level=enough.name)
    if need.bounded and (enough.budget_bits or 0) > need.bits:
        return message("network_advice.above", bits=Amount(need.bits, "bits"))
    return message("network_advice.from", level=enough.name)


def _cost(need: Need, networks: Networks) -> tuple[Message | None, bool]:
    """Say what the largest budget that is depleted costs, and whether that is inconclusive."""
    if need.short is None:
        lasting = None if need.of("open") else message("network_advice.none_depleted")
        return lasting, False
    short = need.short.rung.level
    found = next((s for s in slowdowns_vs_largest(networks, need.ladder) if s.level == short), None)
    cost = None
    if found is not None:
        margin, c = chosen(networks.results.experiment.margin), found.comparison
        apart = c.low is not None and c.high is not None and not c.low <= 1 <= c.high
        cost = message(
            "network_advice.vs_largest",
            verdict=verdict_words(networks.basis).of(c.verdict, margin),
            few=c.n if apart and not c.verdict.conclusive else None,
            reference=found.reference.name,
            change=found.change,
        )
    said = message(
        "network_advice.cost",
        every=need.bits is None,
        level=short.name,
        depleted=need.short.dry,
        trials=need.short.rung.n,
        cost=cost,
    )
    # Of the largest budget of all, no comparison shows what depletion costs.
    return said, found is None or not found.comparison.verdict.conclusive


def _in_a_row(need: Need, networks: Networks) -> Message:
    """Say for how many trials in a row each budget lasts."""
    budgets = []
    for spent in need.spendings:
        use = spent.rung.use
        dry = (use["times_dry"] > 0).groupby(use["trial"]).any().to_numpy()
        budgets.append(
            message(
                "network_advice.lasts",
                level=spent.rung.level.name,
                all=not dry.any(),
                trials=int(dry.argmax()) if dry.any() else len(dry),
            )
        )
    rests = networks.results.experiment.network.rest != "none"
    return message("network_advice.in_a_row", rests=rests, budgets=budgets)


def _rates(networks: Networks) -> Iterable[Line]:
    """Say what the high rate costs, where a bucket that was never depleted is slower than none."""
    full = {(id(n.ladder), n.enough.rung.level) for n in needs(networks) if n.enough is not None}
    for ladder in networks.ladders:
        here = [
            s
            for s in slowdowns(networks)
            if s.slower
            and s.reference == networks.reference
            and s.pair.levels == ladder.levels
            and (id(ladder), s.level) in full
        ]
        for s in here:
            yield Line(
                "rate",
                message("network_advice.rate", where=ladder.at),
                message(
                    "network_advice.never_depleted",
                    level=s.level.name,
                    verdict=verdict_words(networks.basis).of(s.comparison.verdict),
                    reference=s.reference.name,
                    change=s.change,
                ),
            )


def _stragglers(networks: Networks) -> Iterable[Line]:
    """Name the host that is depleted while the others are not."""
    some = [d for d in droughts(networks) if sum(h.times > 0 for h in d.hosts) == 1]
    for d in [d for d in some if len(d.hosts) > 1][:1]:
        host = max(d.hosts, key=lambda h: h.times)
        yield Line(
            "straggler",
            message("network_advice.straggler", host=host.host),
            message(
                "network_advice.alone",
                level=d.level,
                alone=d.alone,
                trials=d.rung.n,
                first=None if host.first_ns is None else Amount(host.first_ns, "ns"),
            ),
            open=d.rung.n < FEWEST_TRIALS,
        )


def _repetitions(networks: Networks) -> Iterable[Line]:
    """Say whether more trials help."""
    found = courses(networks)
    drained = [c for c in found if c.state == "drained"]
    if drained:
        evidence = message("network_advice.drained", levels=changes(drained))
        yield Line("repetitions", remedy(drained), evidence)
    steady = [c for c in found if c.state == "steady" and c.rung.level.bucket is not None]
    for some, why in (
        ([c for c in steady if c.depletion is None], message("network_advice.alike")),
        (
            [c for c in steady if c.depletion is not None],
            message("network_advice.similar", bound=Chosen(BOUND)),
        ),
    ):
        if some:
            advice = message("network_advice.more_trials", levels=[c.level for c in some])
            yield Line("repetitions", advice, why)
    open_ = [c for c in found if c.state == "inconclusive" and c.rung.level.bucket is not None]
    if open_ and not drained:
        yield Line(
            "repetitions",
            message("network_advice.more_trials_open", levels=[c.level for c in open_]),
            message("network_advice.trials_in_a_row", trials=min(c.rung.n for c in open_)),
            open=True,
        )


def _unknown(networks: Networks) -> Iterable[Line]:
    """Warn of results without their budget, where the budget matters more than anything."""
    if carried(networks.results):
        return
    for x in map(unknown, networks.ladders):
        if x is not None and (x.range.low or 0) > max(BOUND, 2 * x.within):
            yield Line("spread", message("network_advice.publish"), across(x))


def _open(networks: Networks) -> Iterable[Line]:
    """Say what the times leave inconclusive, and what would settle it."""
    some = slowdowns(networks)
    waiting = [s for s in some if not s.comparison.verdict.conclusive]
    if not waiting:
        return
    if few := too_few(some):
        yield Line("open", message("network_advice.few"), few, open=True)
        return
    levels = [
        message(
            "network_advice.waiting",
            level=s.level.name,
            reference=s.reference.name,
            change=s.change,
        )
        for s in waiting[:_MOST_WAITING]
    ]
    yield Line(
        "open",
        message("network_advice.open", waiting=len(waiting), comparisons=len(some)),
        message(
            "network_advice.settle",
            levels=levels,
            more=more([(s.pair, s.comparison) for s in waiting]),
        ),
        open=True,
    )


def _settle(networks: Networks) -> Message | None:
    """Say what would settle what the times leave inconclusive."""
    waiting = [s for s in slowdowns(networks) if not s.comparison.verdict.conclusive]
    return more([(s.pair, s.comparison) for s in waiting])


def _table(lines: list[Line], networks: Networks) -> Table:
    titles = {"about": "about", "advice": "advice", "evidence": "evidence"}
    return Table(
        title=message("network_advice.table.title", metric=networks.basis.metric),
        columns=tuple(Column(key=key, title=title) for key, title in titles.items()),
        rows=tuple(
            {"about": x.about, "advice": text(x.advice), "evidence": text(x.evidence)}
            for x in lines
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=6, find=find)
