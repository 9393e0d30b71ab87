"""Whether workers ran concurrently: STABILITY's parallel ratio, and the time all were busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import first_of, tables_of, where
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

_MOST_ROWS = 16
_ROW_HEIGHT = 22
_MEASURES = {"overlap": "all workers busy", "ratio": "parallel ratio"}


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row for each cell with several workers, the least parallel first."""
    import altair as alt

    for table in tables_of(findings, "parallelism_check")[:1]:
        rows = table.rows[:_MOST_ROWS]
        names = [where(row, table, results) for row in rows]
        records = [
            {"where": name, "measure": words, "median": row[key], "least": row[f"{key}_low"]}
            for name, row in zip(names, rows, strict=True)
            for key, words in _MEASURES.items()
            if row[key] is not None
        ]
        label = label_width(names)
        layers = alt.layer(*_marks(records, names, label), data=data(records))
        size = {"width": panel_width(1, label + 20), "height": len(names) * _ROW_HEIGHT}
        chart = layers.properties(**size)
        return styled(chart, gutter=label + 20, label=label, most=560)
    return None


def _marks(records: list[dict[str, Any]], names: list[str], label: int) -> list[Any]:
    """Draw the median trial of each measure, with a line to the worst."""
    import altair as alt

    measures = [w for w in _MEASURES.values() if any(r["measure"] == w for r in records)]
    colours = alt.Scale(domain=measures, range=[colour("s0"), colour("s1")][: len(measures)])
    shapes = alt.Scale(domain=measures, range=["circle", "square"][: len(measures)])
    lowest = min(min(r["least"], r["median"]) for r in records)
    x: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[min(0.75, lowest), 1]),
        "axis": alt.Axis(format=".0%", tickCount=5),
    }
    base = alt.Chart().encode(
        y=alt.Y("where:N", sort=names, title=None, axis=label_axis(label, names)),
        yOffset=alt.YOffset("measure:N", sort=measures),
        color=alt.Color("measure:N", scale=colours, legend=alt.Legend(title=None)),
        tooltip=[
            alt.Tooltip("where:N", title="cell"),
            alt.Tooltip("measure:N"),
            alt.Tooltip("median:Q", format=".2%"),
            alt.Tooltip("least:Q", format=".2%"),
        ],
    )
    return [
        base.mark_rule(strokeWidth=1.4).encode(x=alt.X("least:Q", **x), x2="median:Q"),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            x=alt.X("median:Q", **x),
            shape=alt.Shape("measure:N", scale=shapes, legend=alt.Legend(title=None)),
        ),
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the least parallel cells."""
    tables = tables_of(findings, "parallelism_check")
    if not tables:
        return (message("chart.parallel_ratio.nothing"),)
    table = tables[0]
    cells = []
    for key, words in _MEASURES.items():
        known = [row for row in table.rows if row[key] is not None]
        if known:
            least = min(known, key=lambda row: row[key])
            cells.append(
                message(
                    "chart.parallel_ratio.cell",
                    measure=words,
                    median=Amount(least[key], "share"),
                    worst=Amount(least[f"{key}_low"], "share"),
                    where=where(least, table, results),
                    n=least["n"],
                )
            )
    return (
        message("chart.parallel_ratio.least", cells=cells),
        message("chart.parallel_ratio.marks"),
        *first_of(_MOST_ROWS, len(table.rows)),
    )


UNIT = ChartUnit(
    description=Description(
        name="parallel_ratio",
        title="Share of the time in which all workers ran",
        question="Did the workers run concurrently?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
