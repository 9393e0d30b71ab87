"""Whether workers ran side by side: STABILITY's parallel ratio, and the time all were busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.findings.finding import Finding, Table
from tare.findings.phrasing import at_levels, percent
from tare.registry import Description
from tare.report.charts.chart import (
    ChartUnit,
    colour,
    data,
    label_axis,
    label_width,
    panel_width,
    styled,
)
from tare.report.charts.forest import finding_named
from tare.results import Results

_MOST_ROWS = 16
_ROW_HEIGHT = 22
_MEASURES = {"overlap": "all workers busy", "ratio": "parallel ratio"}


def _table(findings: Sequence[Finding]) -> Table | None:
    found = finding_named(findings, "parallelism_check")
    return found.tables[0] if found and found.tables else None


def _where(row: dict[str, Any], table: Table, results: Results) -> str:
    keys = [c.key for c in table.columns if c.key in results.factors]
    return at_levels({k: str(row[k]) for k in keys}, keys)


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row for each cell with several workers, the least parallel first."""
    import altair as alt

    table = _table(findings)
    if table is None:
        return None
    rows = table.rows[:_MOST_ROWS]
    names = [_where(row, table, results) for row in rows]
    records = [
        {"where": where, "measure": words, "median": row[key], "least": row[f"{key}_low"]}
        for where, row in zip(names, rows, strict=True)
        for key, words in _MEASURES.items()
        if row[key] is not None
    ]
    measures = [w for w in _MEASURES.values() if any(r["measure"] == w for r in records)]
    label = label_width(names)
    lowest = min(min(r["least"], r["median"]) for r in records)
    x: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[min(0.75, lowest), 1]),
        "axis": alt.Axis(format=".0%", tickCount=5),
    }
    base = alt.Chart(data(records)).encode(
        y=alt.Y("where:N", sort=names, title=None, axis=label_axis(label)),
        yOffset=alt.YOffset("measure:N", sort=measures),
        color=alt.Color(
            "measure:N",
            scale=alt.Scale(domain=measures, range=[colour("s0"), colour("s1")][: len(measures)]),
            legend=alt.Legend(title=None),
        ),
        tooltip=[
            alt.Tooltip("where:N", title="cell"),
            alt.Tooltip("measure:N"),
            alt.Tooltip("median:Q", format=".2%"),
            alt.Tooltip("least:Q", format=".2%"),
        ],
    )
    shapes = alt.Scale(domain=measures, range=["circle", "square"][: len(measures)])
    bars = base.mark_rule(strokeWidth=1.4).encode(x=alt.X("least:Q", **x), x2="median:Q")
    marks = base.mark_point(filled=True, size=44, opacity=1).encode(
        x=alt.X("median:Q", **x),
        shape=alt.Shape("measure:N", scale=shapes, legend=alt.Legend(title=None)),
    )
    gutter = label + 20
    chart = alt.layer(bars, marks).properties(
        width=panel_width(1, gutter), height=len(names) * _ROW_HEIGHT
    )
    return styled(chart, gutter=gutter, label=label, most=560)


def alternative(results: Results, findings: Sequence[Finding]) -> str:
    """Tell the least parallel cells."""
    table = _table(findings)
    if table is None:
        return "No cell has more than one worker."
    told = []
    for key, words in _MEASURES.items():
        known = [row for row in table.rows if row[key] is not None]
        if known:
            least = min(known, key=lambda row: row[key])
            told.append(
                f"{words} {percent(least[key])} in the median trial and "
                f"{percent(least[f'{key}_low'])} in the worst of n = {least['n']}, for "
                f"{_where(least, table, results)}"
            )
    text = (
        f"The least parallel: {'; '.join(told)}. Marks are median trials, lines reach to the worst."
    )
    if len(table.rows) > _MOST_ROWS:
        text += f" Drawn are the {_MOST_ROWS} least parallel of {len(table.rows)} cells."
    return text


UNIT = ChartUnit(
    description=Description(
        name="parallel_ratio",
        title="Share of the time in which all workers ran",
        question="Did the workers run side by side?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
