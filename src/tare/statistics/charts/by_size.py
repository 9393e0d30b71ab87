"""Values over sizes: a line for each series, a panel for each way in which it was set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.drawing import SERIES, SHAPES, colour, data, panel_width, styled
from tare.statistics.charts.panels import number

_HEIGHT = 230
_GUTTER = 74
#: Each further series stands so much to the right, so that intervals do not hide each other.
_ASIDE = 1.045
#: Beyond so many panels a second row begins.
_MOST_COLUMNS = 3


def by_size(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    *,
    logarithmic: bool = False,
    line_at: float | None = None,
) -> Any:
    """Draw estimates with intervals over sizes.

    Parameters
    ----------
    rows : sequence of mapping
        ``panel``, ``series``, ``x`` (the size, above 0), ``at``, ``low`` and ``high`` (None where
        there is no interval).
    title : str
        Of the axis of values.
    logarithmic : bool
        Scale of the values; all must be positive. Sizes are always on a logarithmic one.
    line_at : float, optional
        Where a line is drawn through all panels.

    Returns
    -------
    altair chart
    """
    import altair as alt

    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    sizes = sorted({float(row["x"]) for row in rows})
    columns = min(len(panels), _MOST_COLUMNS)
    ticks = ", ".join(f"{s:g}" for s in sizes)
    x = alt.X(
        "x:Q",
        title="cores",
        scale=alt.Scale(
            type="log", base=2, nice=False,
            domain=[sizes[0] / 1.25, sizes[-1] * 1.25 * _ASIDE ** (len(names) - 1)],
        ),
        axis=alt.Axis(values=sizes, labelExpr=f"[{ticks}].indexOf(datum.value) < 0 ? '' :"
                      " format(datum.value, '~g')", grid=False, labelOverlap=False),
    )  # fmt: skip
    y: dict[str, Any] = {
        "title": title,
        "scale": alt.Scale(type="log") if logarithmic else alt.Scale(zero=False),
        "axis": alt.Axis(tickCount=6, format="~g", labelOverlap="greedy"),
    }
    legend = alt.Legend(title=None, orient="top")
    domain = {"domain": names, "range": [SERIES[i % len(SERIES)] for i in range(len(names))]}
    shapes = {"domain": names, "range": [SHAPES[i % len(SHAPES)] for i in range(len(names))]}
    base = alt.Chart().encode(
        x=x,
        color=alt.Color("series:N", scale=alt.Scale(**domain), legend=legend),
        tooltip=[alt.Tooltip(f"{key}:N", title=key) for key in ("series", "cores", "told")],
    )
    layers = [
        base.mark_line(strokeWidth=1.2, opacity=0.6).encode(y=alt.Y("at:Q", **y)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, opacity=0.85)
        .encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_point(filled=True, size=52, opacity=1).encode(
            y=alt.Y("at:Q", **y),
            shape=alt.Shape("series:N", scale=alt.Scale(**shapes), legend=legend),
        ),
    ]
    if line_at is not None:
        rule = alt.Chart().mark_rule(color=colour("quiet"), strokeDash=[4, 3])
        layers.insert(0, rule.encode(y=alt.YDatum(line_at)))
    width = panel_width(columns, _GUTTER)
    chart = alt.layer(*layers).properties(width=width, height=_HEIGHT)
    records = data(_records(rows, names))
    if panels == [""]:
        return styled(chart.properties(data=records), gutter=_GUTTER)
    drawn = chart.facet(
        data=records,
        facet=alt.Facet("panel:N", sort=panels, title=None),
        columns=columns,
    )
    return styled(drawn, columns=columns, gutter=_GUTTER)


def _records(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    told = []
    for row in rows:
        low, high = number(row["low"]), number(row["high"])
        bounds = "no interval" if low is None else f"[{low:.3g}, {high:.3g}]"
        told.append(
            {
                "panel": str(row["panel"]),
                "series": str(row["series"]),
                "cores": f"{row['x']:g}",
                "x": number(row["x"] * _ASIDE ** names.index(str(row["series"]))),
                "at": number(row["at"]),
                "low": low,
                "high": high,
                "told": f"{row['at']:.4g} {bounds}",
            }
        )
    return told
