"""Which platform is stable: the spread of each cell beside that of bare."""

from __future__ import annotations

from tare.findings.cells import Basis, Cells, basis_of
from tare.findings.evidence import (
    cell_table,
    comparison_columns,
    comparison_row,
    ratio_estimate,
    relative_spread,
)
from tare.findings.finding import Finding, FindingUnit, Table, uncompared
from tare.findings.phrasing import at_levels, listing, percent
from tare.findings.telling import Compared, Telling, per_level, smallest_detectable, verdict_of
from tare.registry import Description
from tare.results import Results
from tare.statistics.spread import compare_spreads

_DESCRIPTION = Description(
    name="stability",
    title="Spread of each platform beside that of bare",
    question="Which platform is stable?",
    source="STABILITY",
)
_CHARTS = ("scatter", "spread")


def find(results: Results) -> Finding | None:
    """Compare the p10–p90 range of every cell with that of bare, by blocks common to both."""
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = Cells(results, basis)
    table = cell_table(cells.all, cells.varied or ["workload"], basis)
    margin = results.experiment.parallel_growth
    compared = compare_platforms(cells, margin)
    if not compared:
        return _one_platform(cells, basis, table)
    reference = compared[0][0].reference
    telling = Telling(
        words={
            "less stable": f"less stable than {reference}",
            "more stable": f"more stable than {reference}",
            "as stable": f"as stable as {reference} (within a factor of {1 + margin:g})",
        },
        plain=frozenset({"as stable"}),
        quantity="p10–p90 range",
        varied=cells.varied,
    )
    answer = per_level(compared, lambda name, some: f"{name} is {telling.clauses(some)}.")
    platforms = list(dict.fromkeys(p.level for p, _ in compared))
    return Finding(
        name=_DESCRIPTION.name,
        question=f"Is {listing(platforms, 'or')} as stable as {reference}?",
        answer=f"{answer} n ≥ {min(c.n for _, c in compared)}. {smallest_detectable(compared)}",
        verdict=verdict_of(compared, {"less stable"}),
        summary=_summary(compared, platforms, answer),
        basis=str(basis),
        estimates=tuple(ratio_estimate(p, c, "spread ratio") for p, c in compared),
        tables=(_comparison_table(compared, cells, margin), table),
        caveats=tuple(results.notes),
        charts=_CHARTS,
    )


def compare_platforms(cells: Cells, margin: float) -> Compared:
    """Compare the spread of every platform with that of bare; Holm over all comparisons."""
    pairs = cells.pairs("platform")
    found = compare_spreads(
        [(p.first, p.second) for p in pairs], margin, seed=cells.results.experiment.seed
    )
    return list(zip(pairs, found, strict=True))


def _summary(compared: Compared, platforms: list[str], answer: str) -> str:
    if {c.verdict for _, c in compared} != {"as stable"}:
        return answer
    be = "is" if len(platforms) == 1 else "are"
    return (
        f"{listing(platforms)} {be} as stable as {compared[0][0].reference}, in every cell "
        f"(n ≥ {min(c.n for _, c in compared)})."
    )


def _comparison_table(compared: Compared, cells: Cells, margin: float) -> Table:
    return Table(
        title=f"Spread beside {compared[0][0].reference}, {cells.basis}",
        columns=comparison_columns(cells.varied, "ratio of p10–p90 ranges"),
        rows=tuple(comparison_row(p, c, cells.varied) for p, c in compared),
        note=f"“as stable”: the whole 95 % interval lies within a factor of {1 + margin:g}; "
        "“less” and “more stable”: equality is rejected after Holm over this table. The range "
        "is that of single workers' values.",
    )


def _one_platform(cells: Cells, basis: Basis, table: Table) -> Finding:
    """With one platform there is nothing to compare, but its own spread can be told."""
    ordered = sorted((c for c in cells.all if c.n > 1), key=relative_spread)
    platform = cells.all[0].levels["platform"]
    answer = f"Only {platform} was measured, so that no platforms are compared."
    if ordered:
        first, last = ordered[0], ordered[-1]
        answer += (
            f" There, the p10–p90 range is {percent(relative_spread(first))} of the median for "
            f"{at_levels(first.levels, cells.varied)} (n = {first.n})"
        )
        if last is not first:
            answer += (
                f" and {percent(relative_spread(last))} for "
                f"{at_levels(last.levels, cells.varied)} (n = {last.n}), the least stable cell"
            )
        answer += "."
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict="told",
        summary=answer,
        basis=str(basis),
        tables=(table,),
        caveats=tuple(cells.results.notes),
        charts=_CHARTS,
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=1, find=find)
