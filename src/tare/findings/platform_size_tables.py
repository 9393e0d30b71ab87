"""The tables of PTO and PSO: what was divided, and the ratio at every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.findings.cells import Basis
from tare.findings.evidence import level_columns
from tare.findings.platform_cells import SIZES, Beside
from tare.frames import Results
from tare.render.words import listing
from tare.results.finding import Column, Table
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
)
from tare.statistics.platform_size_curves import Factor

#: How PTO and PSO came about.
METHOD = (
    "log ratio = PTO + PSO · h(CHR), fitted in every block; Hodges–Lehmann medians over blocks, "
    "signed-rank intervals over all shapes of h that the data do not exclude"
)
#: Verdicts in words, of the cost beside the reference.
WORDS = {
    HIGHER: "falls with size",
    HIGHER_WITHIN: "falls with size, by little",
    LOWER: "grows with size",
    LOWER_WITHIN: "grows with size, by little",
    EQUIVALENT: "does not change with size",
    INCONCLUSIVE: "inconclusive whether it changes with size",
}


def _columns(results: Results) -> tuple[Column, ...]:
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    return (
        *level_columns(["platform", "pinning", *others]),
        Column(key="beside", title="beside"),
    )


def _levels(one: Beside) -> dict[str, Any]:
    return {
        **one.levels,
        "platform": one.platform,
        "pinning": one.pinning,
        "beside": one.beside,
    }


def divided_table(told: Sequence[Beside], results: Results) -> Table | None:
    """Lay out PTO and PSO of every platform that has them; None where none has."""
    if not told:
        return None
    rows = []
    for one in told:
        found = one.found
        rows.append(
            {
                **_levels(one),
                "sizes": len(found.sizes),
                "n": found.n,
                **_factor("pto", found.pto),
                **_factor("pso", found.pso),
                "verdict": WORDS[found.verdict],
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
            Column(key="verdict", title="the cost"),
            Column(key="shape", title="shapes that fit"),
        ),
        rows=tuple(rows),
        note="Ratios; 1 is no cost. PTO: what is left where the platform has the whole host "
        "(CHR = 1). PSO: the cost at the smallest size over that at the largest. "
        f"Method: {METHOD}; every size may be off by itself by half the margin.",
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
        title=f"Overhead ratio at every size, {basis}",
        columns=(
            *_columns(results),
            Column(key="cores", title="cores", unit="1"),
            Column(key="chr", title="CHR", unit="1"),
            Column(key="n", title="common blocks"),
            *_interval("ratio", "ratio"),
        ),
        rows=tuple(rows),
        note="CHR: assigned cores over the host's. Vanilla: a quota, free to move; a vanilla "
        "platform stands beside bare under the same quota, and beside bare on as many CPUs of its "
        "own where that was measured, which is PINNING's bare metal.",
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
