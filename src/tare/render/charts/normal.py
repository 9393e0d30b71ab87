"""Are values normal? Their quantiles beside those of the normal distribution."""

from __future__ import annotations

import numpy as np
from scipy import special

from tare.render.charts.panels import Named, arrange, by_name, number
from tare.render.drawing import IN_LINE, Chart, axis, colour, field, layer, mark
from tare.statistics.statistic import FloatArray

_MOST_POINTS = 200


def normal_plot(series: Named, unit: str = "") -> Chart:
    """Draw the quantiles of values against those of a normal distribution (QQ plot).

    Parameters
    ----------
    series : array, shape (n,), or mapping of str to such
        At least two values each.
    unit : str
        For the axis.

    Returns
    -------
    Chart
        Points on the line through the quartiles are as a normal distribution has them.
    """
    return arrange([(name, _panel(values, unit)) for name, values in by_name(series).items()])


def _panel(values: FloatArray, unit: str) -> Chart:
    ordered = np.sort(values)
    n = len(ordered)
    kept = np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).astype(int))
    z = special.ndtri((kept + 0.5) / n)
    points = [{"z": number(a), "value": number(b)} for a, b in zip(z, ordered[kept], strict=True)]
    q1, q3 = np.quantile(ordered, [0.25, 0.75])
    slope = float(q3 - q1) / (2 * float(special.ndtri(0.75)))
    middle = float(q1 + q3) / 2
    line = [{"z": number(e), "value": number(middle + slope * e)} for e in (z[0], z[-1])]
    y = field("value:Q", **axis(unit or None, {"zero": False}, tickCount=4, **IN_LINE))
    return layer(
        mark("line", {}, line, color=colour("ink"), strokeWidth=1.2),
        mark("circle", {}, points, size=14, opacity=0.7, color=colour("s0")),
        channels={"x": field("z:Q", title=None, axis={"tickCount": 5, "grid": False}), "y": y},
    )
