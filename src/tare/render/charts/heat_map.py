"""A map of pairs: core to core, for two CPUs as for hundreds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tare.render.drawing import Chart, colour, field, layer, mark, panel_width, styled
from tare.units import quantity, scale_for

_GUTTER = 70
#: CPUs that have a row of their own; more stand in groups, by their medians.
_MOST_ROWS = 64
#: CPUs up to which each field has its number.
_MOST_NUMBERS = 12
_MOST_SIDE, _ROW = 460, 34
_LEAST_SPAN = 0.25
#: Depth of colour at which text turns to the page's colour.
_DEEP = 0.55


def heat_map(
    values: Mapping[tuple[int, int], float], across: str, down: str, unit: str
) -> tuple[Chart, int]:
    """Draw a cell for each pair; larger values are more opaque.

    Parameters
    ----------
    values : mapping of (int, int) to float
        By row and column; a pair that is there one way only is the same both ways.
    across, down : str
        Titles of the axes.
    unit : str
        Of the values.

    Returns
    -------
    (Chart, int)
        And how many CPUs stand in one field's row: 1, or more where there are many.
    """
    values = {(b, a): value for (a, b), value in values.items()} | dict(values)
    numbers = sorted({n for pair in values for n in pair})
    group = -(-len(numbers) // _MOST_ROWS)
    of = {n: numbers[i // group * group] for i, n in enumerate(numbers)}
    fields: dict[tuple[int, int], list[float]] = {}
    for (a, b), value in values.items():
        fields.setdefault((of[a], of[b]), []).append(value)
    middle = {pair: float(np.median(some)) for pair, some in fields.items()}
    scale, _ = scale_for(middle.values(), unit)
    low, high = min(middle.values()), max(middle.values())
    # Smaller differences are not shown as contrast.
    span = max(high - low, _LEAST_SPAN * high) or 1.0
    order = sorted(set(of.values()))
    records = [
        {"a": a, "b": b, "v": float(f"{v / scale:.3g}"), "told": quantity(v, unit),
         "d": round(0.12 + 0.83 * (v - low) / span, 3)}
        for (a, b), v in sorted(middle.items())
    ]  # fmt: skip
    side = min(_MOST_SIDE, max(120, _ROW * len(order)))
    axis = {"labelAngle": 0, "labelOverlap": "greedy", "grid": False}
    channels = {
        "x": field("b:O", sort=order, title=across, axis=axis),
        "y": field("a:O", sort=order, title=down, axis=axis),
        "tooltip": [field("a:O", title=down), field("b:O", title=across),
                    field("told:N", title="value")],
    }  # fmt: skip
    # One colour in different opacities follows the page's light and dark themes.
    depth = {"opacity": field("d:Q", scale=None, legend=None)}
    layers = [mark("rect", depth, color=colour("s0"), stroke=colour("page"), strokeWidth=1)]
    if len(order) <= _MOST_NUMBERS:
        deep = {"test": f"datum.d > {_DEEP}", "value": colour("page")}
        number = {"text": field("v:Q"), "color": {"condition": deep, "value": colour("ink")}}
        layers.append(mark("text", number, fontSize=11))
    width = panel_width(1, _GUTTER)
    title = f"{quantity(low, unit)} (pale) to {quantity(high, unit)} (deep)"
    chart = layer(*layers, rows=records, channels=channels, width=width, height=side, title=title)
    return styled(chart, gutter=_GUTTER, most=max(220, min(_MOST_SIDE, 60 * len(order)))), group
