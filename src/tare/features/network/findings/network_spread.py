"""How much times vary with the budget: CLOUDNET's Figures 15, 16(b) and 17(b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tare.experiment.findings.cells import Pair
from tare.experiment.findings.comparison_summary import more, spread_kind
from tare.experiment.findings.evidence import (
    comparison_columns,
    comparison_row,
    interval_estimate,
    ratio_estimate,
)
from tare.experiment.findings.finding import FindingUnit, first_of, judged
from tare.experiment.findings.network_cells import (
    FACTOR,
    Ladder,
    Level,
    Networks,
    carried,
    over_networks,
)
from tare.features.network.findings.network_slowdown import nothing
from tare.registry import Description
from tare.render.vocabulary import SPREADS
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    Verdict,
)
from tare.statistics.intervals import FEWEST_FOR_RANGE, Interval, p10_p90, range_interval
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.units import factor

_DESCRIPTION = Description(
    name="network_spread",
    title="Spread at each initial budget relative to that of the reference, and over all budgets",
    question="Are times less stable at a smaller budget?",
    source="CLOUDNET, Figures 15, 16 and 17",
)


@dataclass(frozen=True, eq=False)
class Unknown:
    """What times are like where the budget is not known.

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


def _unknown(ladder: Ladder) -> Unknown | None:
    """Pool the trials of all budgets of a ladder, in common blocks; None where there is one."""
    rungs = ladder.buckets
    if len(rungs) < 2:
        return None
    values_of = [
        {(row["session"], row["block"]): row["value"] for row in rung.trials.records()}
        for rung in rungs
    ]
    common = [key for key in values_of[0] if all(key in some for some in values_of[1:])]
    if not common:
        return None
    values = np.array([[some[key] for some in values_of] for key in common])
    found = range_interval(values / float(np.median(values)))
    within = max(float(p10_p90(column) / np.median(column)) for column in values.T)
    trials = tuple(sorted(int(t) for r in rungs for t in r.trials["trial"]))
    return Unknown(ladder, found, within, trials)


def _judge(networks: Networks) -> Finding | Message | None:
    """Compare the p10–p90 range of every level with that of the reference."""
    some = spreads(networks)
    if not some:
        return nothing(networks)
    # Where budgets are carried over, a level is not one budget.
    ladders = () if carried(networks.results) else networks.ladders
    pooled = [x for x in map(_unknown, ladders) if x is not None]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=(_answer(some, networks), *(_across(x) for x in pooled)),
        **judged(
            _verdict(some), SPREADS, Chosen(networks.results.experiment.parallel_growth, "growth")
        ),
        settle=more([(p, c) for _, p, c in some if not c.verdict.conclusive]),
        basis=str(networks.basis),
        estimates=(
            *(ratio_estimate(p, c, "spread ratio") for _, p, c in some),
            *(_estimate(x) for x in pooled),
        ),
        tables=(_table(some, networks),),
    )


def _answer(some: Sequence[tuple[Level, Pair, SpreadComparison]], networks: Networks) -> Message:
    n = min(c.n for _, _, c in some)
    if all(c.low is None for _, _, c in some) and n < FEWEST_FOR_RANGE:
        return message(
            "inconclusive: a spread needs at least {least} common blocks, {blocks} were "
            "measured. {more | counted('more trial')} per level are needed",
            blocks=n,
            least=FEWEST_FOR_RANGE,
            more=FEWEST_FOR_RANGE - n,
        )
    ladders = {tuple(x.levels.items()): x for x in networks.ladders}
    return message(
        "relative p10–p90 range vs. {reference}: {clauses | join('; ')}{% if more %}. "
        "Inconclusive ones: {more}{% endif %}",
        reference=networks.reference.name,
        clauses=[
            message(
                "{level} {verdict}, {ratio}",
                level=ladders[tuple(pair.levels.items())].named(level),
                verdict=SPREADS.of(c.verdict, factor(c.margin)),
                ratio=Ratio(c.ratio or 1, c.low, c.high),
            )
            for level, pair, c in some
        ],
        more=more([(p, c) for _, p, c in some if not c.verdict.conclusive]),
    )


def _across(x: Unknown) -> Message:
    """Say how much times vary over the budgets of a ladder, and within one."""
    return message(
        "if the budget is unknown, times{% if where %} of {where}{% endif %} vary by "
        "{spread} (p10–p90 over {budgets} budgets); at a fixed budget by at most {within}",
        where=x.ladder.at,
        spread=Amount(x.range.estimate, "share", x.range.low, x.range.high),
        budgets=len(x.ladder.buckets),
        within=Amount(x.within, "share"),
    )


def _estimate(x: Unknown) -> Estimate:
    name, method = (
        "p10–p90 range over all budgets, relative to the median",
        "percentile bootstrap of blocks",
    )
    return interval_estimate(name, x.ladder.levels, x.range, "1", method, x.trials)


def _verdict(some: Sequence[tuple[Level, Pair, SpreadComparison]]) -> Verdict:
    """Return "less stable" if the times at any level are, in whatever size."""
    order = (HIGHER, HIGHER_WITHIN, INCONCLUSIVE, LOWER, LOWER_WITHIN, EQUIVALENT)
    return first_of(order, (c.verdict for _, _, c in some))


def _table(some: Sequence[tuple[Level, Pair, SpreadComparison]], networks: Networks) -> Table:
    factors = [f for f in networks.cells.varied if f != FACTOR]
    return Table(
        title=message(
            "Relative spread vs. {reference}, {basis}",
            reference=networks.reference.name,
            basis=str(networks.basis),
        ),
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
        note=message(
            "The range is that of the values' logarithms: twice the time with twice the "
            "range is as stable. “Less” and “more stable”: Holm over this table"
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=12, find=over_networks(_DESCRIPTION, _judge, compares=True)
)
