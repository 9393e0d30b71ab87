"""Which platform is stable: the spread of each cell beside that of bare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tare.findings.cells import Basis, Cells, Pair, basis_of, cells_of
from tare.findings.evidence import (
    SPREAD_METHOD,
    cell_table,
    comparison_columns,
    comparison_row,
    ratio_estimate,
    relative_spread,
)
from tare.findings.finding import Answer, Estimate, Finding, FindingUnit, Table, uncompared
from tare.findings.phrasing import at_levels
from tare.findings.telling import (
    Compared,
    Telling,
    further,
    share_of,
    smallest_detectable,
    spread_kind,
    spread_words,
)
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER, Verdict
from tare.statistics.intervals import FEWEST_FOR_RANGE
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.units import change_interval, factor, percent, significant

_DESCRIPTION = Description(
    name="stability",
    title="Spread of each platform beside that of bare",
    question="Which platform is stable?",
    source="STABILITY",
)
_CHARTS = ("scatter", "spread")
#: From so many platforms on, those of which nothing is decided are told in one sentence.
_MANY_OPEN = 3


def find(results: Results) -> Finding | None:
    """Compare the p10–p90 range of every cell with that of bare, by blocks common to both."""
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    levels = cells_of(results.of_levels, basis)
    table = cell_table(levels.all, cells.varied or ["workload"], basis)
    margin = results.experiment.parallel_growth
    compared, overall = compare_platforms(cells, margin)
    if not compared and results.experiment.stopping.compare is not None:
        return None  # a comparison on one platform is about something else
    if not compared:
        return _one_platform(levels, basis, table)
    reference = compared[0][0].reference
    told = {
        name: _sentence(name, [pc for pc in compared if pc[0].level == name], c, cells, margin)
        for name, c in overall.items()
    }
    seen = _seen(compared, overall)
    return Finding(
        name=_DESCRIPTION.name,
        question=f"Is {listing(overall, 'or')} as stable as {reference} (within {factor(margin)})?",
        answer=f"{' '.join(told.values())} n ≥ {min(c.n for _, c in compared)}. {seen}".strip(),
        verdict=_verdict(compared, list(overall.values())),
        summary=f"{_summary(compared, overall, told)} {seen}".strip(),
        basis=str(basis),
        estimates=(
            *(
                _overall_estimate(name, c, compared)
                for name, c in overall.items()
                if len(compared) > len(overall)
            ),
            *(ratio_estimate(p, c, "spread ratio") for p, c in compared),
        ),
        tables=(_comparison_table(compared, cells, margin), table),
        charts=_CHARTS,
    )


@lru_cache(maxsize=4)
def compare_platforms(
    cells: Cells, margin: float
) -> tuple[Sequence[tuple[Pair, SpreadComparison]], dict[str, SpreadComparison]]:
    """Compare the spread of every platform with that of bare.

    Returns
    -------
    compared : sequence of (Pair, SpreadComparison)
        Cell by cell.
    overall : dict of str to SpreadComparison
        By platform, over all of its cells. Holm is over both together.
    """
    pairs = cells.pairs("platform")
    single, whole = compare_spreads(
        [p.within_sessions for p in pairs],
        margin,
        seed=cells.results.experiment.seed,
        groups=[p.level for p in pairs],
    )
    return list(zip(pairs, single, strict=True)), whole


def _sentence(
    platform: str,
    some: Sequence[tuple[Pair, SpreadComparison]],
    overall: SpreadComparison,
    cells: Cells,
    margin: float,
) -> str:
    reference = some[0][0].reference
    words = spread_words(margin, reference)
    limit = factor(margin)
    telling = Telling(words, "p10–p90 range", limit, cells.varied)
    bounded = not overall.verdict.conclusive and (overall.high or math.inf) < 1 + margin
    if len(some) == 1 and not bounded:
        asked = f"Whether {platform} is {words[EQUIVALENT]} is"
        known = some[0][1].verdict.conclusive
        return f"{f'{platform} is' if known else asked} {telling.clauses(some)}."
    if bounded:
        excluded = f"not less stable than {reference} by more than {factor(margin)}"
        words = {**words, INCONCLUSIVE: f"{excluded}; whether it is more stable is inconclusive"}
    whole = _whole(platform, overall, len(some), words)
    it = "Cell by cell, it" if len(some) > 1 else "It"
    return f"{whole} {it} is {telling.clauses(some)}."


def _seen(compared: Compared, overall: dict[str, SpreadComparison]) -> str:
    """Tell what the comparisons over all cells could have shown; the table has each cell's."""
    seen = smallest_detectable([(p, overall[p.level]) for p, _ in compared])
    if not seen or len(compared) == len(overall):
        return seen
    return f"Over all cells, {seen[0].lower()}{seen[1:]}"


def _whole(
    platform: str,
    overall: SpreadComparison,
    cells: int,
    words: Mapping[Verdict, str],
) -> str:
    """Tell a platform's spread over all cells."""
    low, high = overall.low, overall.high
    if low is None or high is None:
        return (
            f"Whether {platform} is {words[EQUIVALENT]} cannot be told from n = {overall.n} "
            f"trials a cell: a spread needs at least {FEWEST_FOR_RANGE}."
        )
    ratio = change_interval(overall.ratio or 1, low, high)
    # Of several comparisons, an interval that excludes 1 is not enough.
    holm = f", p = {significant(overall.p_adjusted, 2)} after Holm"
    chance = holm if not overall.verdict.conclusive and not low <= 1 <= high else ""
    evidence = f"over {share_of(cells, cells)}, its p10–p90 range differs by {ratio}{chance}."
    if overall.verdict not in words:
        return f"Whether {platform} is {words[EQUIVALENT]} is inconclusive: {evidence}"
    return f"{platform} is {words[overall.verdict]}: {evidence}"


def _verdict(compared: Compared, overall: list[SpreadComparison]) -> Answer:
    """No if any cell or whole is less stable beyond the margin; yes if all wholes are within it."""
    wholes = {c.verdict for c in overall}
    if HIGHER in wholes | {c.verdict for _, c in compared}:
        return "no"
    return "inconclusive" if INCONCLUSIVE in wholes else "yes"


def _summary(compared: Compared, overall: dict[str, SpreadComparison], told: dict[str, str]) -> str:
    """Tell all platforms at once where they are as stable; otherwise each by itself."""
    worse = {p.level for p, c in compared if not c.verdict.within_margin}
    worst = {p.level for p, c in compared if c.verdict in (HIGHER, LOWER)}
    fine = [x for x, c in overall.items() if c.verdict == EQUIVALENT and x not in worst]
    open_ = [x for x, c in overall.items() if not c.verdict.conclusive and x not in worst]
    few = [x for x in open_ if overall[x].low is None]
    few = few if len(few) > 1 else []
    open_ = open_ if len(open_) >= _MANY_OPEN and all(overall[x].low for x in open_) else []
    others = " ".join(told[x] for x in overall if x not in (*fine, *open_, *few))
    if few:
        others = f"{others} {_few_told(few, compared, overall)}".strip()
    if open_:
        others = f"{others} {_open_told(open_, overall, compared[0][0].reference)}".strip()
    if not fine:
        return others
    be = "is" if len(fine) == 1 else "are"
    n, reference = min(c.n for _, c in compared), compared[0][0].reference
    words = spread_words(overall[fine[0]].margin, reference)[EQUIVALENT]
    where = "over all cells" if worse & set(fine) else "in every cell"
    ratios = listing(
        change_interval(overall[x].ratio or 1, overall[x].low, overall[x].high) for x in fine
    )
    text = f"{listing(fine)} {be} {words}, {where} (p10–p90 ranges {ratios}, n ≥ {n})."
    return f"{others} {text}".strip()


def _open_told(
    platforms: Sequence[str], overall: Mapping[str, SpreadComparison], reference: str
) -> str:
    """Tell at once which of many platforms nothing is decided of; the answer has each cell's."""
    ratios = listing(
        change_interval(overall[x].ratio or 1, overall[x].low, overall[x].high) for x in platforms
    )
    words = spread_words(overall[platforms[0]].margin, reference)[EQUIVALENT]
    return (
        f"Whether {listing(platforms, 'or')} is {words} is inconclusive: over all cells, p10–p90 "
        f"ranges differ by {ratios}."
    )


def _few_told(
    platforms: Sequence[str], compared: Compared, overall: Mapping[str, SpreadComparison]
) -> str:
    """Tell at once which platforms have too few trials for a spread, and how many more it takes."""
    waiting = [(p, c) for p, c in compared if p.level in platforms]
    words = spread_words(overall[platforms[0]].margin, waiting[0][0].reference)[EQUIVALENT]
    return (
        f"Whether {listing(platforms, 'or')} is {words} cannot be told from n = "
        f"{min(c.n for _, c in waiting)} trials a cell: a spread needs at least "
        f"{FEWEST_FOR_RANGE}{further(waiting)}."
    )


def _overall_estimate(name: str, c: SpreadComparison, compared: Compared) -> Estimate:
    trials = {t for p, _ in compared if p.level == name for t in p.trials}
    return Estimate(
        name="spread ratio over all cells",
        levels={"platform": name},
        value=c.ratio,
        unit="1",
        low=c.low,
        high=c.high,
        confidence=c.confidence,
        method=f"geometric mean over cells of the {SPREAD_METHOD}",
        n=c.n,
        trials=tuple(sorted(trials)),
    )


def _comparison_table(compared: Compared, cells: Cells, margin: float) -> Table:
    return Table(
        title=f"Spread beside {compared[0][0].reference}, {cells.basis}",
        columns=comparison_columns(cells.varied, "ratio of p10–p90 ranges"),
        rows=tuple(comparison_row(p, c, cells.varied, spread_kind(margin)) for p, c in compared),
        note=f"“Within {factor(margin)}”: the whole 95 % interval is; “equally stable”: it is, and "
        "no difference is shown; “less” and “more stable”: equality is rejected after Holm over "
        "these cells and the platforms' ratios over all cells. The range is that of single "
        "workers' values.",
    )


def _one_platform(cells: Cells, basis: Basis, table: Table) -> Finding:
    """With one platform there is nothing to compare, but its own spread can be told."""
    ordered = sorted((c for c in cells.all if c.n >= FEWEST_FOR_RANGE), key=relative_spread)
    platform = cells.all[0].levels["platform"]
    if ordered:
        first, last = ordered[0], ordered[-1]
        answer = (
            f"The p10–p90 range is {percent(relative_spread(first))} of the median for "
            f"{at_levels(first.levels, cells.varied)} (n = {first.n})"
        )
        if last is not first:
            answer += (
                f" and {percent(relative_spread(last))} for "
                f"{at_levels(last.levels, cells.varied)} (n = {last.n}), the least stable cell"
            )
        answer += "."
    else:
        most = max(c.n for c in cells.all)
        answer = (
            f"There are too few trials for its p10–p90 range: at most {most} of a cell, where "
            f"{FEWEST_FOR_RANGE} are needed."
        )
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=f"How much do values vary on {platform}?",
        answer=answer,
        verdict="none" if ordered else "inconclusive",
        # Of the network's levels, and of a single cell, there is more to say elsewhere.
        summary=None if "network" in cells.factors or len(cells.all) == 1 else answer,
        basis=str(basis),
        tables=(table,),
        charts=_CHARTS,
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=10, find=find, of_rates=True, over_sessions=True)
