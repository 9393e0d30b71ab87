"""Does pinning help? Mean and spread with and without, over all groups."""

from __future__ import annotations

from collections import Counter

from tare.findings import emulation
from tare.findings.as_stability_would_say import intervals
from tare.findings.cells import Cells, basis_of, cells_of, verdict_words
from tare.findings.evidence import comparison_columns, comparison_row, level_columns, ratio_estimate
from tare.findings.finding import Answer, Column, Finding, FindingUnit, Table, uncompared
from tare.findings.overhead import compare_locations, location_telling
from tare.findings.telling import (
    Compared,
    Telling,
    per_level,
    smallest_detectable,
    spread_kind,
    spread_words,
)
from tare.frames import Results
from tare.registry import Description
from tare.render.vocabulary import Words
from tare.statistics.spread import compare_spreads
from tare.statistics.stability_words import Of, word
from tare.units import chosen, factor

_DESCRIPTION = Description(
    name="pinning",
    title="Location and spread with pinning beside those without, over all groups",
    question="Does pinning make times more stable?",
    source="STABILITY; PINNING",
)
_STATISTICS: tuple[Of, ...] = ("mean", "sd")
_WORDS = ("lesser", "same", "overlap", "higher")


def find(results: Results) -> Finding | None:
    """Compare every pinned cell with the one that is not pinned, by common blocks."""
    if results.trial_table["pinning"].nunique() < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    margin = results.experiment.parallel_growth
    locations = compare_locations(cells, "pinning", results.experiment.margin)
    # What is true of a CPU that is emulated says nothing of one that is not.
    locations = [pc for pc in locations if pc[0].levels["platform"] not in results.emulated]
    pairs = [p for p, _ in locations]
    single, _ = compare_spreads(
        [p.within_sessions for p in pairs], margin, seed=results.experiment.seed
    )
    spreads: Compared = list(zip(pairs, single, strict=True))
    if not pairs:
        return uncompared(_DESCRIPTION, "No cell has good trials both pinned and not pinned.")
    answer = per_level(
        spreads, lambda name, some: f"{_pinned(name)}: {_telling(cells, margin, some)}."
    )
    times = location_telling(cells, results.experiment.margin)
    answer += " " + per_level(
        locations, lambda name, some: f"Times {_pinned(name).lower()} are {times.clauses(some)}."
    )
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=f"{answer} n ≥ {min(p.n for p in pairs)}. {smallest_detectable(spreads)}",
        verdict=_verdict(spreads),
        basis=str(basis),
        estimates=tuple(
            ratio_estimate(p, c, name)
            for name, some in (("spread ratio", spreads), ("ratio", locations))
            for p, c in some
        ),
        tables=(
            _table(
                "spreads",
                "Spread with pinning beside that without",
                "p10–p90 ranges",
                spreads,
                cells,
                spread_kind(margin),
            ),
            _table(
                "values",
                "Values with pinning beside those without",
                "values",
                locations,
                cells,
                (verdict_words(basis), chosen(results.experiment.margin)),
            ),
            _counted_as_stability(cells_of(results.of_levels, basis)),
        ),
        caveats=tuple(filter(None, [emulation.note(results)])),
        charts=("pinning", "platform_pinning"),
    )


def _pinned(level: str) -> str:
    return "Pinned" if level == "pinned" else f"Pinned {level}"


def _table(
    id_: str, title: str, what: str, compared: Compared, cells: Cells, kind: tuple[Words, str]
) -> Table:
    return Table(
        id=id_,
        title=f"{title}, {cells.basis}",
        columns=comparison_columns(cells.varied, f"ratio of {what}"),
        rows=tuple(comparison_row(p, c, cells.varied, kind) for p, c in compared),
    )


def _telling(cells: Cells, margin: float, some: Compared) -> str:
    return Telling(
        words=spread_words(margin, "not pinned"),
        quantity="p10–p90 range",
        limit=factor(margin),
        varied=cells.varied,
    ).clauses(some)


def _verdict(spreads: Compared) -> Answer:
    """Yes if it helps anywhere and hurts nowhere."""
    found = {c.verdict.direction for _, c in spreads}
    if "higher" in found:
        return "no"
    if "lower" in found:
        return "yes"
    return "inconclusive" if "inconclusive" in found else "no"


def _counted_as_stability(cells: Cells) -> Table:
    """Count STABILITY's words over all groups: pinned is … than not pinned."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for of in _STATISTICS:
        known = intervals(cells, of)
        for _, by_level in cells.groups("pinning"):
            free = by_level.get("none")
            for level, cell in by_level.items():
                if free is None or level == "none" or not {cell.cell, free.cell} <= set(known):
                    continue
                said = word(known[cell.cell], known[free.cell])
                counts.setdefault((level, of), Counter())[said] += 1
    return Table(
        title="As STABILITY would count: pinned is … than not pinned",
        columns=(
            *level_columns(["pinning"]),
            Column(key="of", title="of"),
            *(Column(key=w, title=w, unit="1") for w in _WORDS),
        ),
        rows=tuple(
            {"pinning": level, "of": "mean" if of == "mean" else "SD", **{w: c[w] for w in _WORDS}}
            for (level, of), c in counts.items()
        ),
        note="Number of groups; pooled iterations, percentile bootstrap.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=50, find=find, over_sessions=True)
