"""The tables of PTO and PSO: what was divided, and the ratio at every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.cells import Basis
from tare.experiment.findings.evidence import level_columns, verdict_cells
from tare.experiment.findings.platform_cells import SIZES, Beside
from tare.experiment.results import Results
from tare.render import vocabulary
from tare.render.words import listing, text
from tare.results.finding import Column, Table
from tare.results.message import message
from tare.statistics.platform_size import Factor
from tare.units import chosen

#: How PTO and PSO came about.
METHOD = (
    "log ratio = PTO + PSO · h(CHR), fitted in every block; Hodges–Lehmann medians over blocks, "
    "signed-rank intervals over all shapes of h that the data do not exclude"
)


def _columns(results: Results) -> tuple[Column, ...]:
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    return (
        *level_columns(["platform", "pinning", *others]),
        Column(key="beside", title="vs."),
    )


def _levels(one: Beside) -> dict[str, Any]:
    return {
        **one.levels,
        "platform": one.platform,
        "pinning": one.pinning,
        "beside": text(one.beside),
    }


def divided_table(divided: Sequence[Beside], results: Results) -> Table | None:
    """Lay out PTO and PSO of every platform that has them; None where none has."""
    if not divided:
        return None
    margin = chosen(2 * results.experiment.margin)
    rows = []
    for one in divided:
        found = one.found
        rows.append(
            {
                **_levels(one),
                "sizes": len(found.sizes),
                "n": found.n,
                **_factor("pto", found.pto),
                **_factor("pso", found.pso),
                **verdict_cells(found.verdict, vocabulary.SIZES, margin),
                "shape": listing(curve.shape for curve in found.kept),
            }
        )
    return Table(
        title="PTO and PSO",
        columns=(
            *_columns(results),
            Column(key="sizes", title="sizes"),
            Column(key="n", title="blocks"),
            *_interval("pto", "PTO"),
            *_interval("pso", "PSO"),
            Column(key="verdict", title="overhead with size"),
            Column(key="shape", title="shapes that fit"),
        ),
        rows=tuple(rows),
        note=message("platform_size.table.divided_note", method=METHOD),
    )


def ratio_table(some: Sequence[Beside], results: Results, basis: Basis) -> Table:
    """Lay out the overhead ratio of every platform at every size."""
    rows = [
        {
            **_levels(one),
            "cores": size.cores,
            "chr": size.chr,
            "n": size.n,
            **_factor("ratio", size.ratio),
        }
        for one in some
        for size in one.found.sizes
    ]
    return Table(
        title=message("platform_size.table.ratios", basis=str(basis)),
        columns=(
            *_columns(results),
            Column(key="cores", title="cores", unit="1"),
            Column(key="chr", title="CHR", unit="1"),
            Column(key="n", title="common blocks"),
            *_interval("ratio", "ratio"),
        ),
        rows=tuple(rows),
        note=message("platform_size.table.ratios_note"),
    )


def _interval(key: str, title: str) -> tuple[Column, ...]:
    return (
        Column(key=key, title=title, unit="1"),
        Column(key=f"{key}_low", title="from", unit="1"),
        Column(key=f"{key}_high", title="to", unit="1"),
    )


def _factor(key: str, factor: Factor | None) -> dict[str, Any]:
    return {
        key: factor and factor.value,
        f"{key}_low": factor and factor.low,
        f"{key}_high": factor and factor.high,
    }
