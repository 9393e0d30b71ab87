"""The error of times taken from outside: mean and SD of source minus self."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import first_of, tables_of, where
from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled
from tare.render.words import text
from tare.results.finding import Finding, Table
from tare.results.message import Amount, Message, message
from tare.units import quantity, scale_for

#: Cells of one panel: those whose error varies most, as STABILITY's tables begin.
_MOST_ROWS = 16
_ROW_HEIGHT = 19


def _cells(table: Table, results: Results) -> list[str]:
    """Name the cells, the largest relative SD first."""
    return list(dict.fromkeys(where(row, table, results) for row in table.rows))


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row for each of the worst cells, a column for each source: mean, one SD aside."""
    import altair as alt

    tables = tables_of(findings, "harness_error")
    if not tables:
        return None
    names = [name for table in tables for name in _cells(table, results)[:_MOST_ROWS]]
    label = label_width(names)
    columns = max(len({row["source"] for row in table.rows}) for table in tables)
    gutter = label + 20
    width = panel_width(columns, gutter)
    panels = [
        _panels(table, results, label, width).properties(title=text(table.title))
        for table in tables
    ]
    chart = alt.vconcat(*panels, spacing=16)
    return styled(chart, columns=columns, gutter=gutter, label=label, most=420)


def _panels(table: Table, results: Results, label: int, width: int) -> Any:
    import altair as alt

    names = _cells(table, results)[:_MOST_ROWS]
    present = {str(row["source"]) for row in table.rows}
    sources = ranked("wall_ns", present)
    _, unit = scale_for([row["mean"] for row in table.rows], "ns")
    records = _records(table, results)
    x: dict[str, Any] = {"title": unit, "axis": alt.Axis(tickCount=4)}
    base = alt.Chart().encode(
        y=alt.Y("where:N", sort=names, title=None, axis=label_axis(label, names)),
        tooltip=[alt.Tooltip(f"{k}:N") for k in ("where", "source", "mean", "sd", "n")],
    )
    none = alt.Chart().transform_filter("datum.first").mark_rule(color=colour("soft"))
    bars = base.mark_rule(strokeWidth=1.6, color=colour("s0")).encode(
        x=alt.X("low:Q", **x), x2="high:Q"
    )
    marks = base.mark_point(filled=True, size=42, opacity=1, color=colour("s0")).encode(
        x=alt.X("middle:Q", **x)
    )
    layers = alt.layer(none.encode(x=alt.X("none:Q", **x)), bars, marks, data=data(records))
    panel = layers.properties(width=width, height=len(names) * _ROW_HEIGHT)
    return panel.facet(column=alt.Column("source:N", sort=sources, header=alt.Header(title=None)))


def _records(table: Table, results: Results) -> list[dict[str, Any]]:
    names = set(_cells(table, results)[:_MOST_ROWS])
    scale, _ = scale_for([row["mean"] for row in table.rows], "ns")
    seen: set[str] = set()
    records = []
    for row in table.rows:
        name, mean, sd = where(row, table, results), row["mean"], row["sd"]
        if name in names:
            records.append(
                {
                    "where": name,
                    "source": row["source"],
                    "middle": float(f"{mean / scale:.5g}"),
                    "low": None if sd is None else float(f"{(mean - sd) / scale:.5g}"),
                    "high": None if sd is None else float(f"{(mean + sd) / scale:.5g}"),
                    "mean": quantity(mean, "ns"),
                    "sd": quantity(sd, "ns"),
                    "n": row["n"],
                    "none": 0,
                    "first": row["source"] not in seen,
                }
            )
            seen.add(row["source"])
    return records


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the worst cell of each metric and source."""
    worst = []
    longest = 0
    for table in tables_of(findings, "harness_error"):
        longest = max(longest, len(_cells(table, results)))
        for source in dict.fromkeys(str(row["source"]) for row in table.rows):
            first = next(row for row in table.rows if row["source"] == source)
            worst.append(_error(first, table, results))
    return (
        message("chart.harness_error.largest", cells=worst),
        message("chart.harness_error.marks"),
        *first_of(_MOST_ROWS, longest),
    )


def _error(row: Mapping[str, Any], table: Table, results: Results) -> Message:
    share = row["relative_sd"]
    return message(
        "chart.harness_error.cell",
        source=row["source"],
        metric=table.id,
        mean=Amount(row["mean"], "ns"),
        sd=Amount(row["sd"], "ns"),
        share=None if share is None else Amount(share, "share"),
        where=where(row, table, results),
        n=row["n"],
    )


UNIT = ChartUnit(
    description=Description(
        name="harness_error",
        title="Error of times taken from outside",
        question="What is the error of times taken from outside?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
