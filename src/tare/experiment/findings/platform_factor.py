"""Does the cost of a platform depend on the number of processes, the load, the workload …."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import Basis, Cell, Cells, cells_of
from tare.experiment.findings.comparison_summary import more_said
from tare.experiment.findings.evidence import (
    comparison_estimate,
    level_columns,
    ratio_cells,
    verdict_cells,
)
from tare.experiment.findings.finding import FindingUnit, answered, settled, uncompared
from tare.experiment.findings.level_names import key_of, where
from tare.experiment.findings.platform_cells import (
    SIZES,
    cost_basis,
    given_cores,
    log_costs,
    reference_of,
)
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.vocabulary import VALUES
from tare.results.finding import Column, Estimate, Finding, Table, columns_of, interval_columns
from tare.results.message import Chosen, Message, Ratio, message
from tare.results.verdict import EQUIVALENT
from tare.statistics.comparison import Comparison
from tare.statistics.shift import has_ratio, pair_dependence
from tare.statistics.sides import Sides, compare_all
from tare.statistics.statistic import FloatArray
from tare.units import chosen

_DESCRIPTION = Description(
    name="platform_factor",
    title="Overhead ratio at each level of a factor over that at its reference level",
    question="What does the cost of a platform depend on?",
    source="PINNING",
)
_METHOD = (
    "ratio of overhead ratios within blocks that have all four cells, Hodges–Lehmann median, "
    "signed-rank interval"
)


@dataclass(frozen=True)
class Change:
    """How much more a platform costs at one level of a factor than at the reference level."""

    platform: str
    factor: str
    reference: str
    level: str
    levels: dict[str, str]
    sides: Sides
    trials: tuple[int, ...]


#: What is compared, with what came of it.
Changes = list[tuple[Change, Comparison]]


def find(results: Results) -> Finding | None:
    """Compare the overhead ratios at the levels of every factor, the platform's own apart."""
    factors = factors_of(results)
    if len(results.levels("platform")) < 2 or not factors:
        return None
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    found = compared_changes(results, basis)
    if not found:
        return uncompared(
            _DESCRIPTION,
            message("no platform has blocks in common with its reference at two levels"),
        )
    return answered(
        _DESCRIPTION,
        answer=tuple(_sentence(*of, some, results) for of, some in _groups(found).items()),
        verdict=settled(_state(some) != "inconclusive" for some in _groups(found).values()),
        settle=_more([c for _, c in found if not c.verdict.conclusive]),
        basis=str(basis),
        estimates=tuple(_estimate(change, c) for change, c in found),
        tables=(_table(found, results, basis),),
        caveats=(emulated_cpu.note(results),),
    )


def factors_of(results: Results) -> list[str]:
    """Factors that a cost may depend on; sizes too where they are too few for PTO and PSO."""
    return [f for f in results.varied if f != "platform"]


def compared_changes(results: Results, basis: Basis) -> list[tuple[Change, Comparison]]:
    """Compare every change, Holm over all of them."""
    changes = [
        change
        for factor in factors_of(results)
        for change in _changes(cells_of(results, basis), factor)
    ]
    found = compare_all([c.sides for c in changes], results.experiment.margin)
    return list(zip(changes, found, strict=True))


def _changes(cells: Cells, factor: str) -> Iterator[Change]:
    results, bare = cells.results, reference_of(cells.results)
    by_levels = {key_of(c.levels): c for c in cells.all}
    levels = _levels(cells, factor)
    # Not every workload may have been measured at every level.
    there = {tuple(others.items()): by_level for others, by_level in cells.groups(factor)}
    for cell in cells.all:
        platform, level = cell.levels["platform"], cell.levels[factor]
        known_at = there[tuple((f, v) for f, v in cell.levels.items() if f != factor)]
        reference = next(at for at in levels if at in known_at)
        if bare is None or platform == bare or level == reference or platform in results.emulated:
            continue
        four = [
            by_levels.get(key_of({**cell.levels, "platform": p, factor: at}))
            for at in (reference, level)
            for p in (bare, platform)
        ]
        known = [c for c in four if c is not None]
        if len(known) < len(four):
            continue
        first, second = _common(cells.basis, known)
        if len(first) and has_ratio(first, second):
            others = {f: v for f, v in cell.levels.items() if f not in ("platform", factor)}
            trials = tuple(t for c in known for t in c.trials)
            nothing = np.full(len(first), np.nan)
            sides = Sides(
                first,
                second,
                (nothing, nothing),
                dependence=None if results.imported is None else pair_dependence(first, second),
            )
            yield Change(platform, factor, reference, level, others, sides, trials)


def _levels(cells: Cells, factor: str) -> list[str]:
    """Levels by how much others are to be compared with them: the usual one; the largest size."""
    levels = list(dict.fromkeys(c.levels[factor] for c in cells.all))
    if factor in SIZES:
        given = {c.levels[factor]: given_cores(cells.results, c.levels) or 0 for c in cells.all}
        return sorted(levels, key=lambda level: -given[level])
    usual = cells.results.reference(factor)
    return sorted(levels, key=lambda level: level not in (usual, ""))


def _common(basis: Basis, four: list[Cell]) -> tuple[FloatArray, FloatArray]:
    """Overhead ratios at both levels, of the blocks that have all four cells."""
    (a, first), (b, second) = log_costs(basis, *four[:2]), log_costs(basis, *four[2:])
    _, at, to = np.intersect1d(a.astype(str), b.astype(str), return_indices=True)
    order = np.argsort(at)
    return np.exp(first[at[order]]), np.exp(second[to[order]])


def _groups(found: Changes) -> dict[tuple[str, str], Changes]:
    """Put together what is of one platform and factor."""
    groups: dict[tuple[str, str], Changes] = {}
    for change, c in found:
        groups.setdefault((change.platform, change.factor), []).append((change, c))
    return groups


def _shown(some: Changes) -> Changes:
    return [x for x in some if x[1].verdict.differs]


def _state(some: Changes) -> Literal["depends", "same", "inconclusive"]:
    """Say whether the cost of one platform depends on one factor."""
    if _shown(some):
        return "depends"
    return "same" if all(c.verdict == EQUIVALENT for _, c in some) else "inconclusive"


def _sentence(platform: str, factor: str, some: Changes, results: Results) -> Message:
    state, shown = _state(some), _shown(some)
    margin = Chosen(results.experiment.margin)
    if state == "depends":
        change, c = max(shown, key=lambda x: abs(np.log(x[1].ratio)))
        return message(
            "overhead of {platform} depends on {factor}: {ratio} at {level} vs. {reference}"
            "{% if where.levels %} ({where}){% endif %}{% if of > 1 %}, in {some} of {of} "
            "cases{% endif %}",
            platform=platform,
            factor=factor,
            level=change.level,
            reference=change.reference or "none",
            ratio=Ratio(c.ratio, c.low, c.high),
            where=where(change.levels, results.varied),
            some=len(shown),
            of=len(some),
        )
    if state == "same":
        return message(
            "overhead of {platform} does not depend on {factor} by more than {margin}",
            platform=platform,
            factor=factor,
            margin=margin,
        )
    return message(
        "effect of {factor} on the overhead of {platform}: inconclusive, limit {margin}"
        "{% if more %} ({more}){% endif %}",
        platform=platform,
        factor=factor,
        margin=margin,
        more=_more([c for _, c in some if not c.verdict.conclusive]),
    )


def _more(some: list[Comparison]) -> Message | None:
    """Say how many more trials would settle these; None: not known."""
    known = [(c.more_pairs, 0.0) for c in some if c.more_pairs is not None]
    return more_said(known, few=all(c.low is None for c in some))


def _estimate(change: Change, c: Comparison) -> Estimate:
    levels = {**change.levels, "platform": change.platform, change.factor: change.level}
    return comparison_estimate("ratio of overhead ratios", c, levels, _METHOD, change.trials)


def _table(found: list[tuple[Change, Comparison]], results: Results, basis: Basis) -> Table:
    rows = [
        {
            "what": f"{change.factor} {change.level}",
            "beside": change.reference,
            **{f: change.levels.get(f) for f in results.varied if f != "platform"},
            "platform": change.platform,
            "n": c.n,
            **ratio_cells(c),
            "p": c.p_adjusted if c.low is not None else None,
            **verdict_cells(c.verdict, VALUES, chosen(results.experiment.margin)),
        }
        for change, c in found
    ]
    return Table(
        title=message(
            "Overhead ratio at each level relative to that at the reference level, {basis}",
            basis=str(basis),
        ),
        columns=(
            *level_columns(["platform"]),
            *columns_of(what="changed to", beside="from"),
            *level_columns([f for f in results.varied if f != "platform"]),
            Column(key="n", title="common blocks"),
            *interval_columns("ratio", "ratio of overhead ratios", "1"),
            Column(key="p", title="p (Holm)", unit="1"),
            Column(key="verdict", title="verdict"),
        ),
        rows=tuple(rows),
        note=message(
            "1: the overhead is equal at both levels. Values: {method}. Verdicts: Holm over "
            "this table",
            method=_METHOD,
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=32, find=find, of_rates=True, over_sessions=True)
