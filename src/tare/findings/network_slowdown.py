"""How much each initial budget slows a program down: CLOUDNET's Figures 16(a) and 17(a)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tare.findings.cells import Pair, verdict_words
from tare.findings.evidence import comparison_columns, comparison_row, ratio_estimate, without_ratio
from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.network_cells import (
    FACTOR,
    Level,
    Networks,
    applies,
    carried,
    constant,
    networks_of,
)
from tare.findings.phrasing import at_levels
from tare.findings.telling import further
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
)
from tare.statistics.comparison import Comparison, compare_family
from tare.units import change_interval, chosen, counted

_DESCRIPTION = Description(
    name="network_slowdown",
    title="Ratio of the values at each initial budget to those of the reference",
    question="How much does the network slow it down?",
    source="CLOUDNET, Figures 16 and 17",
)
_ERROR = 0.05
_CARRIED = (
    "Budgets are carried over from trial to trial: a level's initial budget is that of its first "
    "trial only, and what is compared are whole series of trials that share one."
)


@dataclass(frozen=True, eq=False)
class Slowed:
    """One level beside another, on their common blocks."""

    level: Level
    beside: Level
    pair: Pair
    comparison: Comparison

    @property
    def change(self) -> str:
        """The ratio with its interval, as a change."""
        c = self.comparison
        return change_interval(c.ratio, c.low, c.high)

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

    The second says what running dry costs, apart from what the high rate does. Holm is over both
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
        Slowed(levels[p.level], beside, p, c) for (beside, p), c in zip(pairs, found, strict=True)
    )


def _pairs(networks: Networks, beside: Level) -> list[Pair]:
    """Give the pairs with one level, in the order of the ladders."""
    pairs = networks.cells.ratios(FACTOR, beside.text)
    order = [r.cell.levels for _, r in networks.rungs]
    return sorted(
        (p for p in pairs if p.reference == beside.text),
        key=lambda p: order.index({**p.levels, FACTOR: p.level}),
    )


def find(results: Results) -> Finding | None:
    """Tell the slowdown at every level beside the reference."""
    if not applies(results) or constant(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    some = slowdowns(networks)
    ratioless = without_ratio(networks.cells.pairs(FACTOR, networks.reference.text), networks.cells)
    if not some:
        return uncompared(_DESCRIPTION, ratioless or nothing(networks))
    first = [s for s in some if s.beside == networks.reference]
    answer = f"Beside {networks.reference.name}: {listing(_clauses(first, networks))}."
    missing = too_few(some)
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join(filter(None, [answer, _alone(some, networks), missing])),
        verdict=settled(s.comparison.verdict.conclusive for s in some),
        summary=None,
        basis=str(networks.basis),
        estimates=tuple(
            ratio_estimate(s.pair, s.comparison, f"slowdown beside {s.beside.text}") for s in some
        ),
        tables=tuple(_tables(some, networks)),
        caveats=tuple(filter(None, [_CARRIED if carried(results) else None, ratioless])),
        charts=("network_slowdown", "network_values"),
    )


def nothing(networks: Networks) -> str:
    """Say why no level can be compared."""
    if len({r.level.text for _, r in networks.rungs}) < 2:
        return (
            f"Nothing is compared: only {networks.reference.name} has good trials; a second level "
            'of the network, such as network = ["none", "…"], would show what it costs.'
        )
    return f"Nothing is compared: {networks.reference.name} shares no good block with any other."


def too_few(some: Sequence[Slowed]) -> str:
    """Say how many blocks are missing for a verdict; empty where there are enough."""
    n, needed = min(s.comparison.n for s in some), blocks_needed(len(some))
    if n >= needed:
        return ""
    return (
        f"Of {counted(len(some), 'comparison')} with {counted(n, 'block')} none can be decided: "
        f"{needed} are needed at least, and CLOUDNET had 10."
    )


def blocks_needed(comparisons: int) -> int:
    """Fewest blocks of which a signed-rank test can decide, after Holm over some comparisons."""
    n = 6
    while comparisons * 2.0 ** (1 - n) >= _ERROR:
        n += 1
    return n


def _clauses(some: Sequence[Slowed], networks: Networks) -> Iterator[str]:
    """Tell each level: alone where there is one ladder, otherwise at its clearest."""
    for level in dict.fromkeys(s.level for s in some):
        here = [s for s in some if s.level == level]
        words = _words(here, networks)
        yield f"{level.name} {words}"


def _words(here: Sequence[Slowed], networks: Networks) -> str:
    words = verdict_words(networks.basis)
    more, less = words.higher, words.lower
    margin = chosen(networks.results.experiment.margin)
    worst = max(here, key=lambda s: (s.slower, s.comparison.ratio))
    c = worst.comparison
    said = {
        HIGHER: f"is {more}, {worst.change}",
        LOWER: f"is {less}, {worst.change}",
        HIGHER_WITHIN: f"is {more} (within {margin})",
        LOWER_WITHIN: f"is {less} (within {margin})",
        EQUIVALENT: f"is equivalent (within {margin})",
        INCONCLUSIVE: f"is inconclusive, {worst.change}{further([(worst.pair, c)])}",
    }[c.verdict]
    if len(here) == 1:
        return said
    at = at_levels(worst.pair.levels, networks.results.varied)
    slower = sum(s.slower for s in here)
    waiting = sum(not s.comparison.verdict.conclusive for s in here)
    of = f"{more} in {slower} of {counted(len(here), 'cell')}"
    return f"{said} for {at} ({of}{f', inconclusive in {waiting}' if waiting else ''})"


def _alone(some: Sequence[Slowed], networks: Networks) -> str:
    """Tell what running dry costs, apart from the high rate."""
    dry = [s for s in some if s.beside != networks.reference]
    if not dry or networks.largest is None:
        return ""
    return (
        f"Beside {networks.largest.name}, the largest budget, which has the same rates: "
        f"{listing(_clauses(dry, networks))}."
    )


def _tables(some: Sequence[Slowed], networks: Networks) -> Iterator[Table]:
    factors = [f for f in networks.cells.varied if f != FACTOR]
    margin = chosen(networks.results.experiment.margin)
    kind = verdict_words(networks.basis), margin
    for beside in dict.fromkeys(s.beside for s in some):
        here = [s for s in some if s.beside == beside]
        yield Table(
            title=f"Slowdown beside {beside.name}, {networks.basis}",
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
            note=f"Hodges–Lehmann median of the ratios within common blocks; “equivalent”: within "
            f"{margin}; “slower” and “faster” after Holm over all comparisons of this answer.",
        )


UNIT = FindingUnit(description=_DESCRIPTION, order=7, find=find, over_sessions=True)
