"""Which platform is stable: the spread of each cell relative to that of bare."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import UNSET

from tare.experiment.findings import phrases as findings_phrases
from tare.experiment.findings.cells import Basis, Cell, Cells, Pair, basis_of, cells_of
from tare.experiment.findings.comparison_summary import (
    Compared,
    Telling,
    by_level,
    corrected,
    more,
    more_trials,
    smallest_detectable,
    spread_kind,
)
from tare.experiment.findings.evidence import (
    SPREAD_METHOD,
    cell_table,
    comparison_estimate,
    comparison_table,
    ratio_estimate,
    relative_spread,
)
from tare.experiment.findings.finding import FindingUnit, answered, first_of, judged, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.findings.network_cells import applies
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.vocabulary import SPREADS
from tare.results import phrases as results_phrases
from tare.results.finding import Estimate, Finding, Table, Unsettled
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
from tare.statistics.intervals import FEWEST_FOR_RANGE
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.units import factor

_STABILITY_TEXTS = {
    "one": "the p10–p90 range is {range} of the median for {where} (n = {n})",
    "least_stable": "the least stable cell: {range} for {where} (n = {n})",
}

_DESCRIPTION = Description(
    name="stability",
    title="Spread of each platform relative to that of bare",
    question="Which platform is stable?",
    source="STABILITY",
)
_CHARTS = ("scatter", "spread")
#: Of the verdicts of several platforms, the first of these answers the question.
_ORDER = (HIGHER, INCONCLUSIVE, LOWER, HIGHER_WITHIN, LOWER_WITHIN, EQUIVALENT)


def find(results: Results) -> Finding | None:
    """Compare the p10–p90 range of every cell with that of bare, by blocks common to both."""
    basis = basis_of(results)
    if isinstance(basis, Message):
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
    reference, least = compared[0][0].reference, min(c.n for _, c in compared)
    few = [(p, c) for p, c in compared if overall[p.level].low is None]
    summary, trials = _summary(compared, overall, more(few)), more_trials(few)
    return answered(
        _DESCRIPTION,
        question=message(
            "Is {platforms | listing('or')} less stable than {reference} (margin {margin})?",
            platforms=list(overall),
            reference=reference,
            margin=Chosen(margin, "growth"),
        ),
        answer=(
            summary,
            *_by_cell(compared, overall, cells),
            message(findings_phrases.BLOCKS, n=least),
            smallest_detectable([(p, overall[p.level]) for p, _ in compared]),
        ),
        **judged(_verdict(compared, overall), SPREADS, Chosen(margin, "growth")),
        summary=summary,
        unsettled=UNSET
        if trials is None
        else (Unsettled(line=0, brief=_summary(compared, overall, None), trials=trials),),
        settle=more([(p, c) for p, c in compared if not c.verdict.conclusive]),
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
        caveats=corrected([*(c for _, c in compared), *overall.values()]),
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


def _by_cell(
    compared: Compared, overall: Mapping[str, SpreadComparison], cells: Cells
) -> Iterator[Message]:
    """Give the spread cell by cell of each platform that has several."""
    reference = compared[0][0].reference
    for platform, some in by_level(compared).items():
        if len(some) > 1:
            margin = factor(overall[platform].margin)
            clauses = Telling(SPREADS, margin, "p10–p90 range", cells.varied).clauses(some)
            yield message(
                "{platform} vs. {reference}, by cell: {clauses | listing}",
                platform=platform,
                reference=reference,
                clauses=[*clauses],
            )


def _word(overall: SpreadComparison) -> str | Message:
    """Name the verdict; where only a bound of the spread is shown, that."""
    if _is_bounded(overall):
        return message(
            "inconclusive, but at most {margin} as wide", margin=Chosen(overall.margin, "growth")
        )
    return SPREADS.of(overall.verdict, factor(overall.margin))


def _is_bounded(overall: SpreadComparison) -> bool:
    """Whether nothing is shown but that the spread is not larger by more than the margin."""
    return not overall.verdict.conclusive and (overall.high or math.inf) < 1 + overall.margin


def _verdict(compared: Compared, overall: Mapping[str, SpreadComparison]) -> Verdict:
    """Return "less stable" if any cell or platform is beyond the margin, else that of platforms."""
    if any(c.verdict == HIGHER for _, c in compared):
        return HIGHER
    return first_of(_ORDER, (c.verdict for c in overall.values()))


def _summary(
    compared: Compared, overall: Mapping[str, SpreadComparison], more: Message | None
) -> Message:
    """Give the platforms of each verdict, with their spreads over all cells.

    ``more``: how many more trials would settle those that have no interval.
    """
    alike: dict[tuple[Verdict, bool], list[str]] = {}
    for platform, c in overall.items():
        if c.low is not None:
            alike.setdefault((c.verdict, _is_bounded(c)), []).append(platform)
    parts = [
        message(
            "{platforms | listing} {verdict}, {ratios | listing}",
            platforms=platforms,
            verdict=_word(overall[platforms[0]]),
            ratios=[_ratio(overall[x]) for x in platforms],
        )
        for platforms in alike.values()
    ]
    few = [platform for platform, c in overall.items() if c.low is None]
    if few:
        parts.append(
            message(
                "{platforms | listing} inconclusive, at least {least} trials per cell are "
                "needed, {trials} were measured{% if more %} ({more}){% endif %}",
                platforms=[*few],
                least=FEWEST_FOR_RANGE,
                trials=min(c.n for p, c in compared if p.level in few),
                more=more,
            )
        )
    return message(
        "spread vs. {reference}: {parts | join('; ')}",
        reference=compared[0][0].reference,
        parts=[*parts],
    )


def _ratio(c: SpreadComparison) -> Ratio:
    return Ratio(c.ratio or 1, c.low, c.high)


def _overall_estimate(name: str, c: SpreadComparison, compared: Compared) -> Estimate:
    trials = sorted({t for p, _ in compared if p.level == name for t in p.trials})
    method = f"geometric mean over cells of the {SPREAD_METHOD}"
    return comparison_estimate("spread ratio over all cells", c, {"platform": name}, method, trials)


def _comparison_table(compared: Compared, cells: Cells, margin: float) -> Table:
    reference = compared[0][0].reference
    return comparison_table(
        compared,
        cells,
        message("Spread vs. {reference}, {basis}", reference=reference, basis=str(cells.basis)),
        "ratio of p10–p90 ranges",
        spread_kind(margin),
        note=message(findings_phrases.TABLE_NOTE, margin=Chosen(margin, "growth")),
    )


def _one_platform(cells: Cells, basis: Basis, table: Table) -> Finding:
    """With one platform there is nothing to compare; its own spread is given."""
    ordered = sorted((c for c in cells.all if c.n >= FEWEST_FOR_RANGE), key=relative_spread)
    platform = cells.all[0].levels["platform"]
    if ordered:
        answer = [_range("one", ordered[0], cells)]
        answer += [_range("least_stable", cell, cells) for cell in ordered[1:][-1:]]
    else:
        most = max(c.n for c in cells.all)
        answer = [
            message(
                "inconclusive: a spread needs at least {least} trials per cell, {most} were "
                "measured at most",
                least=FEWEST_FOR_RANGE,
                most=most,
            )
        ]
    return answered(
        _DESCRIPTION,
        question=message("How much do values vary on {platform}?", platform=platform),
        answer=tuple(answer),
        verdict="none" if ordered else "inconclusive",
        settle=None if ordered else message(results_phrases.SETTLE_TRIALS, trials=FEWEST_FOR_RANGE),
        # Of the network's levels, and of a single cell, there is more to say elsewhere.
        summary=None if applies(cells.results) or len(cells.all) == 1 else tuple(answer),
        basis=str(basis),
        tables=(table,),
        charts=_CHARTS,
    )


def _range(name: Literal["one", "least_stable"], cell: Cell, cells: Cells) -> Message:
    return message(
        _STABILITY_TEXTS[name],
        range=Amount(relative_spread(cell), "share"),
        where=where(cell.levels, cells.varied),
        n=cell.n,
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=10, find=find, killed="refused", of_rates=True,
    over_sessions=True,
)  # fmt: skip
