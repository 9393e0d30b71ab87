"""Charts of ratios: the comparisons of a finding's table, a column of panels a level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from tare.experiment.findings.charts.chart import ChartUnit, chart_of
from tare.experiment.findings.charts.rows import first_of, tables_of, where
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.registry import Description
from tare.render.charts.forest import MOST_ROWS, Ratio, draw_ratios
from tare.render.drawing import Chart
from tare.results import message as messages
from tare.results.finding import Finding, Table
from tare.results.message import Message, message
from tare.results.verdict import Verdict
from tare.units import change_interval


def ratio_chart(
    finding: Description,
    title: str,
    *,
    factor: str,
    what: str,
    margin: Callable[[Experiment], float],
    name: str | None = None,
    source: str | None = None,
) -> ChartUnit:
    """Make the chart of a finding that compares the levels of one factor.

    Parameters
    ----------
    finding : Description
        Of the finding.
    title : str
        Of the chart; its name and source as of :func:`chart_of`.
    what : str
        What a ratio is, in a title.
    margin : callable
        What an experiment counts as the same.
    """

    def ratios(results: Results, findings: Sequence[Finding]) -> list[Ratio]:
        # Of several comparisons, the last is that of values.
        compared = [t for t in tables_of(findings, finding.name) if _is_comparison(t)]
        return [one for table in compared[-1:] for one in _ratios(table, factor, results)]

    def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
        some = ratios(results, findings)
        return draw_ratios(some, margin(results.experiment), what) if some else None

    def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
        return describe_ratios(ratios(results, findings))

    return chart_of(finding, title, draw, alternative, name=name, source=source, takes_killed=True)


def _is_comparison(table: Table) -> bool:
    return any(column.key == "ratio" for column in table.columns)


def _ratios(table: Table, factor: str, results: Results) -> Iterator[Ratio]:
    for row in table.rows:
        place = where(row, table, results, without=(factor,))
        if (found := ratio_of(row, str(row.get(factor)), place)) is not None:
            yield found


def ratio_of(row: Mapping[str, Any], level: str, where: str) -> Ratio | None:
    """Return what is drawn of a row of :func:`comparison_cells`; None where nothing is known."""
    ratio = messages.Ratio(row["ratio"], row["low"], row["high"], row.get("open", UNSET))
    # Of a ratio that values above a limit leave open, the bound that is known is drawn.
    drawn = next((x for x in (row["ratio"], row["low"], row["high"]) if x is not None), None)
    if drawn is None:
        return None
    is_open = ratio.open is not UNSET
    return Ratio(
        level=level,
        where=where,
        ratio=drawn,
        low=drawn if is_open and row["low"] is None else row["low"],
        high=drawn if is_open and row["high"] is None else row["high"],
        verdict=Verdict(row["direction"], row["within_margin"]),
        word=row["verdict"],
        n=row["n"],
        told=change_interval(*ratio.parts),
    )


def describe_ratios(some: Sequence[Ratio]) -> tuple[Message, ...]:
    """Say how many are inconclusive, and what the marks mean; the table beside has the numbers."""
    rows = list(dict.fromkeys(r.where for r in some))[:MOST_ROWS]
    return (
        message(
            "inconclusive: {some} of {total | counted('comparison')}",
            some=sum(r.state == "inconclusive" for r in some),
            total=len(some),
        ),
        message("marks are estimates with 95 % intervals; within the band, values are equivalent"),
        message(
            "rings are inconclusive, filled circles equivalent; triangles point to where "
            "values differ"
        ),
        *first_of(sum(r.where in rows for r in some), len(some)),
    )
