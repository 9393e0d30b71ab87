"""STABILITY's comparison tables in its own words, for reproduction only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Literal

import numpy as np

from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of, pooled
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message, message
from tare.statistics.stability_words import RESAMPLES, Of, percentile_intervals, word

_COUNTS_TEXTS = {
    "mean": "means of pooled iterations by {factor}, in cells: {pairs | join('; ')}",
    "sd": "SDs of pooled iterations by {factor}, in cells: {pairs | join('; ')}",
}
_TABLE_TEXTS = {
    "mean": "Mean by {factor}, each vs. another, {basis}",
    "sd": "SD by {factor}, each vs. another, {basis}",
    "isolate": "SD with isolate vs. without, {basis}",
}

_DESCRIPTION = Description(
    name="as_stability_would_say",
    title="Means and SDs of pooled iterations: lesser, higher, same, overlap",
    question="What would STABILITY say?",
    source="STABILITY",
)
_Name = Literal["mean", "sd", "isolate"]
#: What is compared: the title, the statistic, the factor, and pairs of its levels.
_Wanted = tuple[_Name, Of, str, list[tuple[str, str]]]


def find(results: Results) -> Finding | None:
    """Compare means and SDs of platforms and of pinnings, and SDs with isolate and without."""
    varied = results.varied
    if not {"platform", "pinning"} & {*varied}:
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
    # Trials come in random order, the unpinned level first in the table.
    pinnings = sorted(results.levels("pinning"), key="none".__ne__) if "pinning" in varied else []
    pinned = list(combinations(pinnings, 2))
    wanted: list[_Wanted] = [
        ("mean", "mean", "platform", pairs),
        ("sd", "sd", "platform", pairs),
        ("isolate", "sd", "platform", isolated),
        ("mean", "mean", "pinning", pinned),
        ("sd", "sd", "pinning", pinned),
    ]
    made = [(one, _table(one, cells)) for one in wanted if one[-1]]
    made = [(one, table) for one, table in made if table.rows]
    return answered(
        _DESCRIPTION,
        answer=tuple(_counts(one, table) for one, table in made if one[0] != "isolate"),
        verdict="none",
        basis=str(basis),
        tables=tuple(table for _, table in made),
        caveats=(
            message(
                "iterations and workers are pooled as if each were a trial, so these intervals "
                "are too narrow. Equal cells can appear to differ in more than half of all "
                "cases. “Same” only means that one interval contains the other"
            ),
        ),
    )


def _alone(base: str) -> str | None:
    return "isolate" if base == "bare" else None


def intervals(cells: Cells, of: Of) -> dict[int, tuple[float, float]]:
    """Bootstrap every cell's pooled iterations once; cells of one iteration are left out."""
    seed = cells.results.experiment.seed
    return {
        cell: percentile_intervals(values, np.random.default_rng([seed, cell]))[of]
        for cell, values in pooled(cells.results, cells.basis).items()
        if len(values) > 1
    }


def _table(wanted: _Wanted, cells: Cells) -> Table:
    name, of, factor, pairs = wanted
    factors = [f for f in cells.varied if f != factor] or ["workload"]
    known = intervals(cells, of)
    rows = []
    for levels, by_level in cells.groups(factor):
        row: dict[str, str | None] = {f: levels[f] for f in factors}
        for first, second in pairs:
            row[f"{first} {second}"] = _word(by_level.get(first), by_level.get(second), known)
        rows.append(row)
    return Table(
        title=message(_TABLE_TEXTS[name], basis=str(cells.basis), factor=factor),
        columns=(
            *level_columns(factors),
            *(Column(key=f"{a} {b}", title=f"{a} vs. {b}") for a, b in pairs),
        ),
        rows=tuple(r for r in rows if any(r[f"{a} {b}"] for a, b in pairs)),
        note=message(
            "Percentile bootstrap, R = {resamples}, 95 %. The first is … than the second",
            resamples=RESAMPLES,
        ),
    )


def _word(
    first: Cell | None, second: Cell | None, known: dict[int, tuple[float, float]]
) -> str | None:
    if first is None or second is None or not {first.cell, second.cell} <= set(known):
        return None
    return word(known[first.cell], known[second.cell])


def _counts(wanted: _Wanted, table: Table) -> Message:
    """Return how many cells have each word, by pair of levels."""
    _, of, factor, pairs = wanted
    return message(
        _COUNTS_TEXTS[of],
        factor=factor,
        pairs=[
            message(
                "{first} vs. {second}: {words | join(', ')}",
                first=a,
                second=b,
                words=[*_words(counts)],
            )
            for a, b in pairs
            if (counts := Counter(r[f"{a} {b}"] for r in table.rows if r[f"{a} {b}"]))
        ],
    )


def _words(counts: Counter[str]) -> Iterator[Message]:
    for word_, n in counts.most_common():
        yield message("{word} {n}", word=word_, n=n)


UNIT = FindingUnit(description=_DESCRIPTION, order=100, find=find)
