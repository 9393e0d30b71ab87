"""Ratios of an experiment's findings: what their chart shows, and its description."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.rows import first_of, where
from tare.experiment.results import Results
from tare.render.charts.forest import MOST_ROWS, Ratio, draw_ratios, ratio_axis
from tare.results.finding import Table
from tare.results.message import Message, message
from tare.results.message import Ratio as Estimated
from tare.results.verdict import Verdict
from tare.units import change_interval

__all__ = ["Ratio", "describe_ratios", "draw_ratios", "ratio_axis", "ratios"]


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


def describe_ratios(some: Sequence[Ratio], of: Message) -> tuple[Message, ...]:
    """Give the extremes of each level, and say what the marks mean."""
    if not some:
        return (message("chart.nothing"),)
    levels = [
        _extremes(level, [r for r in some if r.level == level])
        for level in dict.fromkeys(r.level for r in some)
    ]
    said = [message("chart.ratios.levels", of=of, levels=levels)]
    inconclusive = sum(r.state == "inconclusive" for r in some)
    if inconclusive:
        said.append(message("chart.ratios.inconclusive", some=inconclusive, total=len(some)))
    rows = list(dict.fromkeys(r.where for r in some))[:MOST_ROWS]
    return (
        *said,
        message("chart.ratios.intervals"),
        message("chart.ratios.marks"),
        *first_of(sum(r.where in rows for r in some), len(some)),
    )


def _extremes(level: str, some: Sequence[Ratio]) -> Message:
    least, most = min(some, key=lambda r: r.ratio), max(some, key=lambda r: r.ratio)
    return message(
        "chart.ratios.level",
        level=level,
        least=_one(least),
        most=None if least is most else _one(most),
    )


def _one(r: Ratio) -> Message:
    ratio = Estimated(r.ratio, r.low, r.high)
    return message("chart.ratios.one", ratio=ratio, where=r.where, n=r.n)
