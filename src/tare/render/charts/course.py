"""Values in their order, with the points at which their level changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tare.render.charts.panels import Named, arrange, by_name, number
from tare.render.drawing import IN_LINE, MOST_MARKS, Chart, axis, colour, field, layer, mark
from tare.statistics.statistic import FloatArray
from tare.statistics.warmup import FEWEST, settle

_MOST_POINTS = 600


def course(
    series: Named,
    changes: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
    unit: str = "",
) -> Chart:
    """Draw values in order of time, the median of each level, and dashes where it changes.

    Parameters
    ----------
    series : array, shape (n,), or mapping of str to such
        In order of time. Long series are thinned: of each stretch the least and the largest
        value stay, so that no outlier and no outage is lost.
    changes : sequence of int, or mapping of str to such, optional
        Indices at which another level begins; found by :func:`tare.statistics.warmup.settle`
        where they are not given.
    unit : str
        For the axis.

    Returns
    -------
    Chart
    """
    named = by_name(series)
    most = most_points(len(named))
    return arrange(
        [(name, _panel(v, _changes(name, v, changes), unit, most)) for name, v in named.items()]
    )


def most_points(series: int) -> int:
    """Return the most points drawn per series in a chart of ``series`` series."""
    return min(_MOST_POINTS, max(100, MOST_MARKS // series))


def order_axis(n: int) -> dict[str, Any]:
    """Encode the numbers of n values in order of time, in field ``i``."""
    return field(
        "i:Q",
        title=None,
        axis={"tickCount": 4, "grid": False, "format": ",d", "labelFlush": True},
        scale={"domain": [1, max(2, n)], "nice": False},
    )


def _changes(
    name: str, values: FloatArray, given: Sequence[int] | Mapping[str, Sequence[int]] | None
) -> Sequence[int]:
    if isinstance(given, Mapping):
        return given.get(name, ())
    if given is not None:
        return given
    return settle(values).changes if len(values) >= FEWEST else ()


def _panel(values: FloatArray, changes: Sequence[int], unit: str, most: int) -> Chart:
    shown = thin(values, most)
    points = [{"i": int(i) + 1, "value": number(values[i])} for i in shown]
    bounds = [0, *changes, len(values)]
    levels = [
        {"from": a + 1, "to": b, "level": number(float(np.median(values[a:b])))}
        for a, b in pairwise(bounds)
    ]
    x = order_axis(len(values))
    y = axis(unit or None, {"zero": False, "nice": True}, tickCount=4, **IN_LINE)
    tip = [field("i:Q", title="value no."), field("value:Q")]
    at = {"x": x, "y": field("value:Q", **y), "tooltip": tip}
    level = {"x": field("from:Q"), "x2": field("to"), "y": field("level:Q", **y)}
    layers = [
        mark("circle", at, points, size=9, opacity=0.6, color=colour("s0")),
        mark("rule", level, levels, strokeWidth=1.8, color=colour("ink")),
    ]
    if changes:
        places = [{"at": int(c) + 1} for c in changes]
        layers.append(mark("rule", {"x": field("at:Q")}, places, strokeDash=[4, 3],
                           color=colour("mark")))  # fmt: skip
    return layer(*layers)


def thin(values: FloatArray, most: int) -> np.ndarray:
    """Choose indices to draw: of each stretch the least and the largest value."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, most // 2 + 1).astype(int)
    kept = {int(a + f(values[a:b])) for a, b in pairwise(edges) for f in (np.argmin, np.argmax)}
    return np.array(sorted(kept))
