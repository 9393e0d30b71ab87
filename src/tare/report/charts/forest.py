"""Ratios of an experiment's findings: what their chart shows and tells."""

from __future__ import annotations

from collections.abc import Sequence

from tare.frames import Results
from tare.report.charts.rows import of_where, where
from tare.results.finding import Table
from tare.results.verdict import Verdict
from tare.statistics.charts.forest import MOST_ROWS, Ratio, draw_ratios, ratio_axis
from tare.units import change_interval, counted

__all__ = ["Ratio", "draw_ratios", "ratio_axis", "ratios", "tell_ratios"]


def ratios(table: Table, factor: str, results: Results) -> list[Ratio]:
    """Read a table of comparisons of the levels of one factor."""
    return [
        Ratio(
            level=str(row.get(factor)),
            where=where(row, table, results, without=(factor,)),
            ratio=row["ratio"],
            low=row["low"],
            high=row["high"],
            verdict=Verdict(row["direction"], row["within_margin"]),
            word=row["verdict"],
            n=row["n"],
            told=change_interval(row["ratio"], row["low"], row["high"]),
        )
        for row in table.rows
        if row["ratio"] is not None
    ]


def tell_ratios(some: Sequence[Ratio], what: str) -> str:
    """Tell the extremes of each level, and what the marks mean."""
    told = []
    for level in dict.fromkeys(r.level for r in some):
        here = [r for r in some if r.level == level]
        least, most = min(here, key=lambda r: r.ratio), max(here, key=lambda r: r.ratio)
        words = f"{level}: from {_one(least)}" if least is not most else f"{level}: {_one(least)}"
        told.append(f"{words} to {_one(most)}" if least is not most else words)
    undecided = sum(r.state == "inconclusive" for r in some)
    text = (
        f"{what}, {'; '.join(told)}. Marks are estimates with 95 % intervals; the band is what "
        "counts as the same; rings are inconclusive, filled circles the same, triangles point to "
        "where it differs."
    )
    if undecided:
        text += f" Inconclusive: {undecided} of {counted(len(some), 'comparison')}."
    rows = list(dict.fromkeys(r.where for r in some))
    if len(rows) > MOST_ROWS:
        text += f" The first {MOST_ROWS} of {len(rows)} rows are drawn; the table has all."
    return text


def _one(r: Ratio) -> str:
    return f"{change_interval(r.ratio, r.low, r.high)} {of_where(r.where)} (n = {r.n})"
