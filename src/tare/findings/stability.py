"""Which platform is stable? Spread of each cell beside that of bare."""

from __future__ import annotations

from collections.abc import Sequence

from tare.findings.cells import Basis, Cells, Pair, basis_of
from tare.findings.evidence import (
    cell_table,
    comparison_columns,
    comparison_row,
    relative_spread,
    spread_estimate,
)
from tare.findings.finding import Finding, FindingUnit, Table, Verdict, uncompared
from tare.findings.phrasing import (
    at_levels,
    change_interval,
    counted,
    duration,
    listing,
    percent,
)
from tare.registry import Description
from tare.results import Results
from tare.statistics.spread import SpreadComparison, compare_spreads

_DESCRIPTION = Description(
    name="stability",
    title="Spread of each platform beside that of bare",
    question="Which platform is stable?",
    source="STABILITY",
)
_CHARTS = ("scatter", "spread")

Compared = list[tuple[Pair, SpreadComparison]]


def find(results: Results) -> Finding | None:
    """Compare the p10–p90 range of every cell with that of bare, by blocks common to both."""
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = Cells(results, basis)
    pairs = cells.pairs("platform")
    margin = results.experiment.parallel_growth
    compared = compare_platforms(cells, margin)
    table = cell_table(cells.all, cells.varied or ["workload"], basis)
    if not pairs:
        return _one_platform(cells, basis, table)
    shown = Table(
        title=f"Spread beside {pairs[0].reference}, {basis}",
        columns=comparison_columns(cells.varied, "ratio of p10–p90 ranges"),
        rows=tuple(comparison_row(p, c, cells.varied) for p, c in compared),
        note=f"“as stable”: the whole interval lies within a factor of {1 + margin:g}. The "
        "range is that of single workers' values.",
    )
    platforms = list(dict.fromkeys(p.level for p in pairs))
    sentences = [
        _sentence(name, [(p, c) for p, c in compared if p.level == name], cells.varied, margin)
        for name in platforms
    ]
    return Finding(
        name=_DESCRIPTION.name,
        question=f"Is {listing(platforms, 'or')} as stable as {pairs[0].reference}?",
        answer=" ".join(sentences),
        verdict=_verdict([c for _, c in compared]),
        basis=str(basis),
        estimates=tuple(spread_estimate(p, c, "spread ratio") for p, c in compared),
        tables=(shown, table),
        caveats=tuple(results.notes),
        charts=_CHARTS,
    )


def compare_platforms(cells: Cells, margin: float) -> Compared:
    """Compare every platform with bare; Holm over all of these comparisons."""
    pairs = cells.pairs("platform")
    found = compare_spreads(
        [(p.first, p.second) for p in pairs], margin, seed=cells.results.experiment.seed
    )
    return list(zip(pairs, found, strict=True))


def _verdict(compared: Sequence[SpreadComparison]) -> Verdict:
    words = {c.verdict for c in compared}
    if "less stable" in words:
        return "no"
    return "undecided" if "not decided" in words else "yes"


def _sentence(platform: str, compared: Compared, varied: list[str], margin: float) -> str:
    """Say of one platform where it is as stable, where not, and what is not decided."""
    by_word: dict[str, Compared] = {}
    for pair, c in compared:
        by_word.setdefault(c.verdict, []).append((pair, c))
    total = counted(len(compared), "cell")
    reference = compared[0][0].reference
    n = min(c.n for _, c in compared)
    words = []
    for word in ("less stable", "more stable"):
        some = by_word.get(word, [])
        if some:
            # The clearest case stands for all; the table has the others.
            pair, c = max(some, key=lambda pc: abs((pc[1].ratio or 1) - 1))
            ratio = change_interval(c.ratio or 1, c.low, c.high)
            where = at_levels(pair.levels, varied)
            words.append(
                f"{word} than {reference} in {len(some)} of {total} (p10–p90 range {ratio} for "
                f"{where}{', the clearest' if len(some) > 1 else ''})"
            )
    same = by_word.get("as stable", [])
    if same:
        words.append(
            f"as stable as {reference} in {len(same)} of {total} (p10–p90 range within a factor "
            f"of {1 + margin:g})"
        )
    if "not decided" in by_word:
        words.append(_undecided(by_word["not decided"], total))
    return f"{platform} is {listing(words)}; n ≥ {n}."


def _undecided(some: Compared, total: str) -> str:
    more = max((c.more_pairs or 1) for _, c in some)
    seconds = sum((c.more_pairs or 1) * p.seconds for p, c in some)
    time = f", {duration(seconds)}" if seconds else ""
    return (
        f"not decided in {len(some)} of {total} (up to {counted(more, 'further trial')} a "
        f"cell would decide{time})"
    )


def _one_platform(cells: Cells, basis: Basis, table: Table) -> Finding:
    """With one platform there is nothing to compare, but its own spread can be told."""
    ordered = sorted((c for c in cells.all if c.n > 1), key=relative_spread)
    platform = cells.all[0].levels["platform"]
    told = ""
    if ordered:
        first, last = ordered[0], ordered[-1]
        told = (
            f" There, the p10–p90 range is {percent(relative_spread(first))} of the median for "
            f"{at_levels(first.levels, cells.varied)} (n = {first.n})"
        )
        if last is not first:
            told += (
                f" and {percent(relative_spread(last))} for "
                f"{at_levels(last.levels, cells.varied)} (n = {last.n}), the least stable cell"
            )
        told += "."
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=f"Only {platform} was measured, so that no platforms are compared.{told}",
        verdict="told",
        basis=str(basis),
        tables=(table,),
        caveats=tuple(cells.results.notes),
        charts=_CHARTS,
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=1, find=find)
