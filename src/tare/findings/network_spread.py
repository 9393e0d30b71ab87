"""How much times vary with the budget: CLOUDNET's Figures 15, 16(b) and 17(b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tare.findings.cells import Pair
from tare.findings.evidence import comparison_columns, comparison_row, ratio_estimate
from tare.findings.finding import FindingUnit, uncompared
from tare.findings.network_cells import (
    FACTOR,
    Ladder,
    Level,
    Networks,
    applies,
    carried,
    constant,
    networks_of,
)
from tare.findings.network_slowdown import nothing
from tare.findings.telling import further, spread_kind
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Answer, Column, Estimate, Finding, Table
from tare.results.message import Message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
)
from tare.statistics.intervals import FEWEST_FOR_RANGE, Interval, p10_p90, range_interval
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.units import change_interval, counted, factor, percent

_DESCRIPTION = Description(
    name="network_spread",
    title="Spread at each initial budget beside that of the reference, and over all budgets",
    question="Does a smaller budget make times vary more?",
    source="CLOUDNET, Figures 15, 16 and 17",
)


@dataclass(frozen=True, eq=False)
class Unknown:
    """What times are like for somebody who does not know which of the budgets there is.

    Attributes
    ----------
    range : Interval
        p10–p90 range over all budgets, relative to the median.
    within : float
        Of that, the largest range at one budget, relative to that budget's median.
    """

    ladder: Ladder
    range: Interval
    within: float
    trials: tuple[int, ...]


@lru_cache(maxsize=4)
def spreads(networks: Networks) -> tuple[tuple[Level, Pair, SpreadComparison], ...]:
    """Compare the relative spread of every level with that of the reference."""
    reference, experiment = networks.reference.text, networks.results.experiment
    pairs = [p for p in networks.cells.pairs(FACTOR, reference) if p.reference == reference]
    order = [r.cell.levels for _, r in networks.rungs]
    pairs.sort(key=lambda p: order.index({**p.levels, FACTOR: p.level}))
    found, _ = compare_spreads(
        # Logarithms: what takes ten times as long spreads ten times as far, and is as stable.
        [(np.log(p.first), np.log(p.second)) for p in pairs],
        experiment.parallel_growth,
        seed=experiment.seed,
    )
    levels = {r.level.text: r.level for _, r in networks.rungs}
    return tuple((levels[p.level], p, c) for p, c in zip(pairs, found, strict=True))


def unknown(ladder: Ladder) -> Unknown | None:
    """Pool the trials of all budgets of a ladder, in common blocks; None where there is one."""
    rungs = ladder.buckets
    if len(rungs) < 2:
        return None
    frames = [r.trials.set_index(["session", "block"])["value"] for r in rungs]
    common = frames[0].index
    for frame in frames[1:]:
        common = common.intersection(frame.index)
    if not len(common):
        return None
    values = np.column_stack([f.loc[common].to_numpy(dtype=float) for f in frames])
    found = range_interval(values / float(np.median(values)))
    within = max(float(p10_p90(column) / np.median(column)) for column in values.T)
    trials = tuple(sorted(int(t) for r in rungs for t in r.trials["trial"]))
    return Unknown(ladder, found, within, trials)


def find(results: Results) -> Finding | None:
    """Compare the p10–p90 range of every level with that of the reference."""
    if not applies(results) or constant(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    some = spreads(networks)
    if not some:
        return uncompared(_DESCRIPTION, nothing(networks))
    # Where budgets are carried over, a level is not one budget.
    ladders = () if carried(results) else networks.ladders
    pooled = [x for x in map(unknown, ladders) if x is not None]
    told = [_answer(some, networks), *(_unknown_sentence(x) for x in pooled)]
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=" ".join(told),
        verdict=_verdict(some),
        basis=str(networks.basis),
        estimates=(
            *(ratio_estimate(p, c, "spread ratio") for _, p, c in some),
            *(_estimate(x) for x in pooled),
        ),
        tables=(_table(some, networks),),
    )


def _answer(some: Sequence[tuple[Level, Pair, SpreadComparison]], networks: Networks) -> str:
    beside = networks.reference.name
    n = min(c.n for _, _, c in some)
    if all(c.low is None for _, _, c in some) and n < FEWEST_FOR_RANGE:
        return (
            f"Inconclusive: {counted(n, 'block')} are too few for a spread, which needs "
            f"{FEWEST_FOR_RANGE}; {FEWEST_FOR_RANGE - n} more of each level are missing."
        )
    within = f"(within {factor(some[0][2].margin)})"
    words = {
        HIGHER: "varies more",
        LOWER: "varies less",
        HIGHER_WITHIN: f"varies more {within}",
        LOWER_WITHIN: f"varies less {within}",
        EQUIVALENT: f"varies as much {within}",
        INCONCLUSIVE: "is inconclusive",
    }
    clauses = [
        f"{level.name}{_at(pair, networks)} {words[c.verdict]} "
        f"({change_interval(c.ratio or 1, c.low, c.high)})"
        for level, pair, c in some
    ]
    waiting = further([(p, c) for _, p, c in some if not c.verdict.conclusive])
    return f"Relative p10–p90 ranges beside {beside}: {listing(clauses)}{waiting}."


def _at(pair: Pair, networks: Networks) -> str:
    where = next((x.where for x in networks.ladders if x.levels == pair.levels), "")
    return f" for {where}" if where else ""


def _unknown_sentence(x: Unknown) -> str:
    low, high = x.range.low, x.range.high
    bounds = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
    at = f" for {x.ladder.where}" if x.ladder.where else ""
    n = len(x.ladder.buckets)
    across = "both" if n == 2 else f"all {n}"
    return (
        f"Across {across} budgets, run times vary by {percent(x.range.estimate)}{bounds}{at} "
        f"(p10–p90); within one, by at most {percent(x.within)}."
    )


def _estimate(x: Unknown) -> Estimate:
    return Estimate(
        name="p10–p90 range over all budgets, relative to the median",
        levels=dict(x.ladder.levels),
        value=x.range.estimate,
        unit="1",
        low=x.range.low,
        high=x.range.high,
        confidence=0.95,
        method="percentile bootstrap of blocks",
        n=x.range.n,
        trials=x.trials,
    )


def _verdict(some: Sequence[tuple[Level, Pair, SpreadComparison]]) -> Answer:
    found = {c.verdict for _, _, c in some}
    if found & {HIGHER, HIGHER_WITHIN}:
        return "yes"
    return "inconclusive" if INCONCLUSIVE in found else "no"


def _table(some: Sequence[tuple[Level, Pair, SpreadComparison]], networks: Networks) -> Table:
    factors = [f for f in networks.cells.varied if f != FACTOR]
    return Table(
        title=f"Relative spread beside {networks.reference.name}, {networks.basis}",
        columns=(
            Column(key="level", title="network"),
            Column(key="budget_bits", title="initial budget", unit="bits"),
            *comparison_columns(factors, "ratio of relative p10–p90 ranges"),
        ),
        rows=tuple(
            {
                "level": level.name,
                "budget_bits": level.budget_bits,
                FACTOR: level.text,
                **comparison_row(pair, c, factors, spread_kind(c.margin)),
            }
            for level, pair, c in some
        ),
        note="The range is that of the values' logarithms: what takes twice as long and spreads "
        "twice as far is as stable. “Less” and “more stable” after Holm over this table.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=12, find=find)
