"""STABILITY's comparison tables in its own words, for reproduction only."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from tare.findings.cells import Cell, Cells, basis_of, cells_of, pooled
from tare.findings.evidence import level_columns
from tare.findings.finding import FindingUnit, uncompared
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message
from tare.statistics.stability_words import RESAMPLES, Of, percentile_interval, word

_DESCRIPTION = Description(
    name="as_stability_would_say",
    title="Means and SDs of pooled iterations: lesser, higher, same, overlap",
    question="What would STABILITY say?",
    source="STABILITY",
)


def find(results: Results) -> Finding | None:
    """Compare the platforms' means and SDs, and those with isolate to those without."""
    if results.trial_table["platform"].nunique() < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    platforms = list(dict.fromkeys(c.levels["platform"] for c in cells.all))
    plain = [p for p in platforms if p.split("/")[-1] != "isolate"] or platforms
    pairs = list(combinations(plain, 2))
    isolated = [
        (p, base) for p in platforms for base in platforms if p in (f"{base}/isolate", _alone(base))
    ]
    wanted: list[tuple[str, str, Of, list[tuple[str, str]]]] = [
        ("Mean", "Mean of each platform vs. another", "mean", pairs),
        ("SD", "SD of each platform vs. another", "sd", pairs),
        ("SD", "SD with isolate vs. without", "sd", isolated),
    ]
    made = [(name, _table(title, of, some, cells)) for name, title, of, some in wanted if some]
    made = [(name, table) for name, table in made if table.rows]
    tables = [table for _, table in made]
    told = [f"{name}: {_counts(table)}" for name, table in made[:2]]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=f"Over pooled iterations, as STABILITY compared them. {'. '.join(told)}.",
        verdict="none",
        basis=str(basis),
        tables=tuple(tables),
        caveats=(
            "Iterations and workers are pooled as if each were a trial, which makes these "
            "intervals too narrow: equal cells can be told to differ in more than half of all "
            "cases. “same” only means that one interval contains the other.",
        ),
    )


def _alone(base: str) -> str | None:
    return "isolate" if base == "bare" else None


def intervals(cells: Cells, of: Of) -> dict[int, tuple[float, float]]:
    """Bootstrap every cell's pooled iterations once; cells of one iteration are left out."""
    seed = cells.results.experiment.seed
    return {
        cell: percentile_interval(values, of, np.random.default_rng([seed, cell]))
        for cell, values in pooled(cells.results, cells.basis).items()
        if len(values) > 1
    }


def _table(title: str, of: Of, pairs: list[tuple[str, str]], cells: Cells) -> Table:
    factors = [f for f in cells.varied if f != "platform"] or ["workload"]
    known = intervals(cells, of)
    rows = []
    for levels, by_platform in cells.groups("platform"):
        row: dict[str, str | None] = {f: levels[f] for f in factors}
        for first, second in pairs:
            row[f"{first} {second}"] = _word(by_platform.get(first), by_platform.get(second), known)
        rows.append(row)
    return Table(
        title=f"{title}, {cells.basis}",
        columns=(
            *level_columns(factors),
            *(Column(key=f"{a} {b}", title=f"{a} vs {b}") for a, b in pairs),
        ),
        rows=tuple(r for r in rows if any(r[f"{a} {b}"] for a, b in pairs)),
        note=f"Percentile bootstrap, R = {RESAMPLES}, 95 %; the first is … than the second.",
    )


def _word(
    first: Cell | None, second: Cell | None, known: dict[int, tuple[float, float]]
) -> str | None:
    if first is None or second is None or not {first.cell, second.cell} <= set(known):
        return None
    return word(known[first.cell], known[second.cell])


def _counts(table: Table) -> str:
    told = []
    for column in table.columns:
        words = Counter(r[column.key] for r in table.rows if r[column.key])
        if " " in column.key:
            told.append(f"{column.title} {listing(f'{w} {n}' for w, n in words.most_common())}")
    return "; ".join(told)


UNIT = FindingUnit(description=_DESCRIPTION, order=100, find=find)
