"""What each platform costs, primitive by primitive: a field for each, the deeper the dearer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.render.drawing import colour, data, label_axis, label_width, panel_width, styled

_ROW = 26
#: A factor at which colour is deepest.
_DEEPEST = 4.0
#: Depth of colour at which text turns to the page's colour.
_DEEP = 0.55


@dataclass(frozen=True)
class Field:
    """One figure on one platform, as a multiple of the first platform's."""

    row: str
    platform: str
    ratio: float
    #: With its mark, which says the same as the colour.
    told: str
    interval: str
    #: Whether that is sure: what is inconclusive is pale, and what is no cost, being emulated, has
    #: no colour at all.
    sure: bool
    cost: bool


def weights(fields: Sequence[Field], rows: Sequence[str], platforms: Sequence[str]) -> Any:
    """Draw a field for each figure and platform.

    Parameters
    ----------
    fields : sequence of Field
    rows, platforms : sequence of str
        In the order in which they are to stand.

    Returns
    -------
    altair chart
        Dearer than the first platform has one colour, cheaper another, and each field its number.
    """
    import altair as alt

    label = label_width(rows)
    records = [
        {"row": f.row, "platform": f.platform, "told": f.told, "interval": f.interval,
         "side": "dearer" if f.ratio >= 1 else "cheaper", "d": _depth(f)}
        for f in fields
    ]  # fmt: skip
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", grid=False, orient="top", labelLimit=120)
    base = alt.Chart(data(records)).encode(
        x=alt.X("platform:O", sort=list(platforms), title=None, axis=axis),
        y=alt.Y("row:O", sort=list(rows), title=None, axis=label_axis(label)),
        tooltip=[alt.Tooltip(f"{key}:N") for key in ("row", "platform", "told", "interval")],
    )
    tint = alt.Color(
        "side:N", legend=None,
        scale=alt.Scale(domain=["dearer", "cheaper"], range=[colour("s1"), colour("s0")]),
    )  # fmt: skip
    ink = alt.condition(f"datum.d > {_DEEP}", alt.value(colour("page")), alt.value(colour("ink")))
    drawn = alt.layer(
        base.mark_rect(stroke=colour("line"), strokeWidth=1).encode(
            color=tint, opacity=alt.Opacity("d:Q", scale=None, legend=None)
        ),
        base.mark_text(fontSize=11).encode(text="told:N", color=ink),
    ).properties(width=panel_width(1, label + 20), height=_ROW * len(rows))
    return styled(drawn, gutter=label + 20, label=label, most=max(150, 130 * len(platforms)))


def _depth(field: Field) -> float:
    if not field.cost:
        return 0.02
    far = min(1.0, abs(math.log(field.ratio)) / math.log(_DEEPEST))
    return round(0.04 + (0.86 if field.sure else 0.2) * far, 3)
