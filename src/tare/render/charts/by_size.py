"""Values over sizes: a line for each series, a panel for each way in which it was set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.render.charts.axes import sizes_axis
from tare.render.charts.panels import number
from tare.render.drawing import (
    Chart,
    axis,
    by_series,
    colour,
    data,
    field,
    layer,
    mark,
    panel_width,
    styled,
)

Rows = Sequence[Mapping[str, Any]]

_HEIGHT = 230
_GUTTER = 74
#: Factor by which each series is shifted to the right, so that intervals do not overlap.
_ASIDE = 1.045
#: Panels in a row.
_MOST_COLUMNS = 3


def by_size(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    *,
    sizes: str = "cores",
    order: Sequence[str] = (),
    logarithmic: bool = False,
    line_at: float | None = None,
    band: tuple[float, float] | None = None,
    rules: Sequence[float] = (),
) -> Chart:
    """Draw estimates with intervals over sizes.

    Parameters
    ----------
    rows : sequence of mapping
        ``panel``, ``series``, ``x`` (the size, above 0), ``at``, ``low`` and ``high`` (None where
        there is no interval).
    title : str
        Of the axis of values.
    sizes : str
        Title of the axis of sizes.
    order : sequence of str, optional
        Series in the order in which colours and shapes are given out.
    logarithmic : bool
        Scale of the values; all must be positive. Sizes are always on a logarithmic one.
    line_at : float, optional
        Where a line is drawn through all panels.
    band : (float, float), optional
        Values between which all panels are shaded.
    rules : sequence of float
        Sizes that are marked; those beyond the axis are left out.

    Returns
    -------
    Chart
    """
    panels = {str(row["panel"]) for row in rows}
    columns = min(len(panels), _MOST_COLUMNS)
    drawn = _drawn(
        rows, title, columns, sizes, order,
        logarithmic=logarithmic, line_at=line_at, band=band, rules=rules,
    )  # fmt: skip
    return styled(drawn, columns=columns, gutter=_GUTTER)


def by_size_apart(groups: Sequence[tuple[str, Rows]], sizes: str = "cores") -> Chart:
    """Draw groups of panels below each other, each with a logarithmic scale of its own.

    Parameters
    ----------
    groups : sequence of (str, rows)
        Title of the axis of values, and rows as :func:`by_size` takes them.
    sizes : str
        Title of the axis of sizes.

    Returns
    -------
    Chart
    """
    order = list(dict.fromkeys(str(row["series"]) for _, rows in groups for row in rows))
    columns = min(max(len({row["panel"] for row in rows}) for _, rows in groups), _MOST_COLUMNS)
    parts = [_drawn(rows, title, columns, sizes, order, logarithmic=True) for title, rows in groups]
    drawn = parts[0] if len(parts) == 1 else {"vconcat": parts}
    shared = {"scale": {"color": "shared", "shape": "shared"}}
    return styled({**drawn, "resolve": shared}, columns=columns, gutter=_GUTTER)


def _drawn(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    columns: int,
    sizes: str,
    order: Sequence[str] = (),
    *,
    logarithmic: bool = False,
    line_at: float | None = None,
    band: tuple[float, float] | None = None,
    rules: Sequence[float] = (),
) -> Chart:
    given = list(dict.fromkeys((*order, *(str(row["series"]) for row in rows))))
    names = [name for name in given if any(row["series"] == name for row in rows)]
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    records = _records(rows, names, _floor(rows) if logarithmic else None)
    x = sizes_axis([float(row["x"]) for row in rows], sizes, _ASIDE ** (len(names) - 1))
    layers = [_layers(x, title, by_series(names, "series", given), logarithmic=logarithmic)]
    if line_at is not None:
        layers.insert(0, mark("rule", {"y": {"datum": line_at}}, color=colour("quiet"),
                              strokeDash=[4, 3]))  # fmt: skip
    if band is not None:
        ends = {"y": {"datum": band[0]}, "y2": {"datum": band[1]}}
        layers.insert(0, mark("rect", ends, color=colour("band"), opacity=0.9))
    low, high = x["scale"]["domain"]
    layers += [
        mark("rule", {"x": {"datum": at}}, strokeDash=[4, 3], color=colour("mark"))
        for at in rules
        if low < at < high
    ]
    chart = layer(*layers, width=panel_width(columns, _GUTTER), height=_HEIGHT)
    if panels == [""]:
        return {"data": data(records), **chart}
    facet = field("panel:N", sort=panels, title=None)
    return {"data": data(records), "facet": facet, "columns": columns, "spec": chart}


def _layers(x: dict[str, Any], title: str, series: tuple[Any, Any], *, logarithmic: bool) -> Chart:
    """Lines through the estimates, their intervals, and marks."""
    scale = {"type": "log", "nice": False, "padding": 8} if logarithmic else {"zero": False}
    y = axis(title, scale, tickCount=6, format="~g", labelOverlap="greedy")
    tint, shape = series
    at, interval = field("at:Q", **y), {"y": field("low:Q", **y), "y2": field("high")}
    tip = [field(f"{key}:N", title=key) for key in ("series", "size", "told")]
    return layer(
        mark("line", {"y": at}, strokeWidth=1.2, opacity=0.6),
        mark("rule", interval, where="isValid(datum.low)", strokeWidth=2, opacity=0.85),
        mark("point", {"y": at, "shape": shape}, filled=True, size=52, opacity=1),
        channels={"x": field("x:Q", **x), "color": tint, "tooltip": tip},
    )


def _floor(rows: Sequence[Mapping[str, Any]]) -> float:
    """Where intervals end that reach to zero, which no logarithmic scale has."""
    known = [row[key] for row in rows for key in ("at", "low") if row[key] is not None]
    return float(min(value for value in known if value > 0)) / 1.5


def _records(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], floor: float | None
) -> list[dict[str, Any]]:
    told = []
    for row in rows:
        low, high = number(row["low"]), number(row["high"])
        bounds = "no interval" if low is None else f"[{low:.3g}, {high:.3g}]"
        told.append(
            {
                "panel": str(row["panel"]),
                "series": str(row["series"]),
                "size": f"{row['x']:g}",
                "x": number(row["x"] * _ASIDE ** names.index(str(row["series"]))),
                "at": number(row["at"]),
                "low": low if low is None or floor is None else max(low, floor),
                "high": high,
                "told": f"{row['at']:.4g} {bounds}",
            }
        )
    return told
