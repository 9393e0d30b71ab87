"""How much each initial budget slows a program down: CLOUDNET's Figures 16(a) and 17(a)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tare.experiment.findings.cells import Pair, verdict_words
from tare.experiment.findings.comparison_summary import blocks_needed, more, share
from tare.experiment.findings.evidence import (
    comparison_columns,
    comparison_row,
    ratio_estimate,
    without_ratio,
)
from tare.experiment.findings.finding import FindingUnit, settled
from tare.experiment.findings.level_names import where
from tare.experiment.findings.network_cells import FACTOR, Level, Networks, carried, over_networks
from tare.registry import Description
from tare.results.finding import Column, Finding, Table
from tare.results.message import Chosen, Message, Ratio, message
from tare.results.verdict import HIGHER, LOWER
from tare.statistics.comparison import Comparison, compare_family
from tare.units import chosen

_DESCRIPTION = Description(
    name="network_slowdown",
    title="Ratio of the values at each initial budget to those of the reference",
    question="How much does the network slow it down?",
    source="CLOUDNET, Figures 16 and 17",
)


@dataclass(frozen=True, eq=False)
class Slowed:
    """One level relative to another, on their common blocks."""

    level: Level
    reference: Level
    pair: Pair
    comparison: Comparison

    @property
    def change(self) -> Ratio:
        """The ratio with its interval."""
        c = self.comparison
        return Ratio(c.ratio, c.low, c.high)

    @property
    def slower(self) -> bool:
        """Whether it is shown to be slower, by more than the margin."""
        return self.comparison.verdict == HIGHER

    @property
    def harmless(self) -> bool:
        """Whether it is shown to be slower by less than the margin, if at all."""
        found = self.comparison.verdict
        return found.within_margin or found == LOWER


@lru_cache(maxsize=4)
def slowdowns(networks: Networks) -> tuple[Slowed, ...]:
    """Compare every level with the reference, and every bucket with the largest one.

    The second says what depletion costs, apart from what the high rate does. Holm is over both
    together.
    """
    pairs = [(networks.reference, p) for p in _pairs(networks, networks.reference)]
    if networks.largest is not None and networks.largest != networks.reference:
        buckets = {r.level.text for _, r in networks.rungs if r.level.bucket is not None}
        pairs += [
            (networks.largest, p) for p in _pairs(networks, networks.largest) if p.level in buckets
        ]
    levels = {r.level.text: r.level for _, r in networks.rungs}
    found = compare_family(
        [p.trial_values for _, p in pairs],
        networks.results.experiment.margin,
        tick=networks.cells.basis.tick,
    )
    return tuple(
        Slowed(levels[p.level], reference, p, c)
        for (reference, p), c in zip(pairs, found, strict=True)
    )


def _pairs(networks: Networks, reference: Level) -> list[Pair]:
    """Give the pairs with one level, in the order of the ladders."""
    pairs = networks.cells.ratios(FACTOR, reference.text)
    order = [r.cell.levels for _, r in networks.rungs]
    return sorted(
        (p for p in pairs if p.reference == reference.text),
        key=lambda p: order.index({**p.levels, FACTOR: p.level}),
    )


def _judge(networks: Networks) -> Finding | Message | None:
    """Compare every level with the reference."""
    some = slowdowns(networks)
    ratioless = without_ratio(networks.cells.pairs(FACTOR, networks.reference.text), networks.cells)
    if not some:
        return ratioless or nothing(networks)
    few = _too_few(some)
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=(*_answer(some, networks), *([few] if few else [])),
        verdict=settled(s.comparison.verdict.conclusive for s in some),
        settle=more([(s.pair, s.comparison) for s in some if not s.comparison.verdict.conclusive]),
        summary=few,
        basis=str(networks.basis),
        estimates=tuple(
            ratio_estimate(s.pair, s.comparison, f"slowdown vs. {s.reference.text}") for s in some
        ),
        tables=tuple(_tables(some, networks)),
        caveats=(
            *(
                [
                    message(
                        "budgets are carried over from trial to trial: the initial budget is "
                        "that of "
                        "a level's first trial only. Compared are whole series of trials that "
                        "share "
                        "one"
                    )
                ]
                if carried(networks.results)
                else []
            ),
            *([ratioless] if ratioless else []),
        ),
        charts=("network_slowdown",),
    )


def nothing(networks: Networks) -> Message:
    """Say why no level can be compared."""
    only = len({r.level.text for _, r in networks.rungs}) < 2
    return message(
        (
            "nothing is compared: only {reference} has good trials. A second level, such as "
            'network = ["none", "…"], shows what the network costs'
        )
        if only
        else "nothing is compared: {reference} shares no good block with any other level",
        reference=networks.reference.name,
    )


def _too_few(some: Sequence[Slowed]) -> Message | None:
    """Say how many blocks are missing for a verdict; None where there are enough."""
    n, needed = min(s.comparison.n for s in some), blocks_needed(len(some))
    if n >= needed:
        return None
    return message(
        "at least {needed | counted('common block')} are needed for "
        "{comparisons | counted('conclusive comparison')}, {blocks} were measured (CLOUDNET "
        "used 10)",
        comparisons=len(some),
        blocks=n,
        needed=needed,
    )


def _answer(some: Sequence[Slowed], networks: Networks) -> Iterator[Message]:
    """Compare with the reference, then with the largest budget: what depletion alone costs."""
    for reference in dict.fromkeys(s.reference for s in some):
        by_level: dict[Level, list[Slowed]] = {}
        for s in some:
            if s.reference == reference:
                by_level.setdefault(s.level, []).append(s)
        yield message(
            "relative to {reference}{% if largest %} (the largest budget, at the same rates)"
            "{% endif %}: {clauses | join('; ')}",
            reference=reference.name,
            largest=reference != networks.reference,
            clauses=[_clause(here, networks) for here in by_level.values()],
        )


def _clause(here: Sequence[Slowed], networks: Networks) -> Message:
    """Judge a level: alone where there is one ladder, otherwise at its clearest."""
    words = verdict_words(networks.basis)
    worst = max(here, key=lambda s: (s.slower, s.comparison.ratio))
    verdict = worst.comparison.verdict
    return message(
        "{level} {verdict}{% if ratio %}, {ratio}{% endif %}{% if more %} ({more}){% endif %}"
        "{% if where %} for {where} ({word} in {slower}{% if waiting %}, inconclusive in "
        "{waiting}{% endif %}){% endif %}",
        level=worst.level.name,
        verdict=words.of(verdict, chosen(networks.results.experiment.margin)),
        ratio=None if verdict.within_margin else worst.change,
        more=None if verdict.conclusive else more([(worst.pair, worst.comparison)]),
        where=where(worst.pair.levels, networks.results.varied) if len(here) > 1 else None,
        word=words.higher,
        slower=share(sum(s.slower for s in here), len(here)),
        waiting=sum(not s.comparison.verdict.conclusive for s in here),
    )


def _tables(some: Sequence[Slowed], networks: Networks) -> Iterator[Table]:
    factors = [f for f in networks.cells.varied if f != FACTOR]
    kind = verdict_words(networks.basis), chosen(networks.results.experiment.margin)
    for reference in dict.fromkeys(s.reference for s in some):
        here = [s for s in some if s.reference == reference]
        yield Table(
            title=message(
                "Slowdown vs. {reference}, {basis}",
                reference=reference.name,
                basis=str(networks.basis),
            ),
            columns=(
                Column(key="level", title="network"),
                Column(key="budget_bits", title="initial budget", unit="bits"),
                *comparison_columns(factors, "slowdown"),
            ),
            rows=tuple(
                {
                    "level": s.level.name,
                    "budget_bits": s.level.budget_bits,
                    FACTOR: s.level.text,
                    **comparison_row(s.pair, s.comparison, factors, kind),
                }
                for s in here
            ),
            note=message(
                "Hodges–Lehmann median of the ratios within common blocks. “Equivalent”: "
                "within {margin}. “Slower” and “faster”: Holm over all comparisons of this "
                "answer",
                margin=Chosen(networks.results.experiment.margin),
            ),
        )


UNIT = FindingUnit(
    description=_DESCRIPTION,
    order=7,
    find=over_networks(_DESCRIPTION, _judge, compares=True),
    over_sessions=True,
)
