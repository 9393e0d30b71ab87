"""What the spread of the unstable cells goes with."""

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
from tare.units import percent

_MOST_ROWS = 16
_ROW_HEIGHT = 24
_NOT_COVARIATES = ("why", "n", "share", "p")


def _rows(
    results: Results, findings: Sequence[Finding]
) -> tuple[list[str], list[tuple[str, dict[str, Any]]]]:
    """Name the covariates, the strongest first, and label the rows, the best explained first."""
    for table in tables_of(findings, "causes")[:1]:
        others = (*results.factors, *_NOT_COVARIATES)
        names = [c.key for c in table.columns if c.key not in others]
        rows = [(where(row, table, results), row) for row in table.rows]
        names.sort(key=lambda name: -max((row[name] or 0 for _, row in rows), default=0))
        rows.sort(key=lambda row: -(row[1]["share"] or 0))
        return names, rows
    return [], []


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row for each unstable cell, a circle for each thing recorded, by its share."""
    import altair as alt

    names, rows = _rows(results, findings)
    if not names:
        return None
    shown = rows[:_MOST_ROWS]
    records = [
        {"where": cell, "name": name, "share": row[name], "told": percent(row[name])}
        for cell, row in shown
        for name in names
        if row[name] is not None
    ]
    labels = [cell for cell, _ in shown]
    label = label_width(labels)
    size = {"width": panel_width(1, label + 90), "height": len(shown) * _ROW_HEIGHT}
    chart = alt.layer(*_marks(names, labels, label), data=data(records)).properties(**size)
    return styled(chart, gutter=label + 90, label=label, least=30 * len(names), most=620)


def _marks(names: list[str], labels: list[str], label: int) -> list[Any]:
    """Draw a circle for each share, with the number where it is not small."""
    import altair as alt

    above = alt.Axis(orient="top", labelAngle=-40, labelLimit=150, labelPadding=8)
    base = alt.Chart().encode(
        x=alt.X("name:N", sort=names, title=None, axis=above),
        y=alt.Y("where:N", sort=labels, title=None, axis=label_axis(label, labels)),
        tooltip=[
            alt.Tooltip("where:N", title="cell"),
            alt.Tooltip("name:N", title="goes with"),
            alt.Tooltip("told:N", title="share of variance"),
        ],
    )
    area = alt.Scale(domain=[0, 1], range=[0, 620])
    circles = base.mark_circle(color=colour("s0"), opacity=0.3)
    numbers = base.transform_filter("datum.share >= 0.1").mark_text(fontSize=10)
    return [
        circles.encode(size=alt.Size("share:Q", scale=area, legend=None)),
        numbers.encode(text=alt.Text("share:Q", format=".0%")),
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the strongest covariate of each of the first cells."""
    names, rows = _rows(results, findings)
    strongest = []
    for cell, row in rows[:5]:
        known = [(row[name], name) for name in names if row[name] is not None]
        if known:
            share, name = max(known)
            strongest.append(
                message(
                    "chart.causes.cell",
                    where=cell,
                    covariate=name,
                    share=Amount(share, "share"),
                    n=row["n"],
                )
            )
    return (
        message("chart.causes.strongest", cells=strongest),
        message("chart.causes.marks"),
        *first_of(_MOST_ROWS, len(rows)),
    )


UNIT = ChartUnit(
    description=Description(
        name="causes",
        title="What correlates with the spread",
        question="Why are the unstable cells unstable?",
        source="measurement rules of tare",
    ),
    draw=draw,
    alternative=alternative,
)
