"""Values over sizes, a line a platform: what the charts of platforms have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tare.render.drawing import SERIES, SHAPES

#: Room around the sizes, and around the values, as factors.
_ROOM, _MARGIN = 1.25, 1.08
#: Labels of a decade, by how far a logarithmic axis reaches.
_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (8, (1, 1.5, 2, 3, 4, 5, 6, 8)),
    (80, (1, 2, 5)),
    (math.inf, (1,)),
)
#: A shorter one has labels in even steps: at most so many.
_SHORT, _MOST_LABELS = 2.5, 7


def logarithmic(values: Sequence[float | None], title: str) -> dict[str, Any]:
    """Describe a logarithmic axis that is as long as the values need, with a few round labels."""
    import altair as alt

    known = [v for v in values if v is not None and v > 0]
    low, high = min(known) / _MARGIN, max(known) * _MARGIN
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        "axis": alt.Axis(
            values=[t for t in _labels(low, high) if low <= t <= high],
            # Seven digits hide what 10.0**i leaves behind the point.
            labelExpr="format(datum.value, '.7~g')",
            labelOverlap="greedy",
        ),
    }


def _labels(low: float, high: float) -> list[float]:
    first, last = (math.floor(math.log10(x)) for x in (low, high))
    if high / low > _SHORT:
        steps = next(steps for most, steps in _STEPS if high / low <= most)
        return [s * 10.0**i for i in range(first, last + 1) for s in steps]
    step = next(
        s * 10.0**i
        for i in range(first - 3, last + 2)
        for s in (1, 2, 5)
        if (high - low) / (s * 10.0**i) <= _MOST_LABELS
    )
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def sizes_axis(sizes: Sequence[float], title: str) -> dict[str, Any]:
    """Describe a logarithmic axis that is labelled at the sizes that there are."""
    import altair as alt

    known = sorted(set(sizes))
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=[known[0] / _ROOM, known[-1] * _ROOM], nice=False),
        "axis": alt.Axis(values=known, format="~g", labelOverlap="greedy", grid=False),
    }


def marks(platforms: Sequence[str], x: Any, y: dict[str, Any]) -> list[Any]:
    """Draw intervals, lines and points: filled and whole, of emulated platforms hollow and dashed.

    Records have ``platform``, ``middle``, ``low``, ``high``, ``told``, ``emulated``.
    """
    import altair as alt

    legend = alt.Legend(title=None) if len(platforms) > 1 else None
    colours = alt.Scale(
        domain=list(platforms), range=[SERIES[i % len(SERIES)] for i, _ in enumerate(platforms)]
    )
    shapes = alt.Scale(
        domain=list(platforms), range=[SHAPES[i % len(SHAPES)] for i, _ in enumerate(platforms)]
    )
    base = alt.Chart().encode(
        x=x,
        color=alt.Color("platform:N", scale=colours, legend=legend),
        tooltip=[alt.Tooltip("platform:N"), alt.Tooltip("told:N", title="value")],
    )
    real, emulated = "datum.emulated == false", "datum.emulated == true"
    of_shape = alt.Shape("platform:N", scale=shapes, legend=legend)
    middle = alt.Y("middle:Q", **y)
    rule = base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q", **y), y2="high:Q")
    line = base.mark_line(strokeWidth=1.4, opacity=0.75).encode(y=middle)
    dashed = base.mark_line(strokeWidth=1.2, strokeDash=[4, 4], opacity=0.75).encode(y=middle)
    point = base.mark_point(filled=True, size=60, opacity=1).encode(y=middle, shape=of_shape)
    ring = base.mark_point(filled=False, size=52, strokeWidth=1.4).encode(y=middle, shape=of_shape)
    return [
        rule,
        line.transform_filter(real),
        dashed.transform_filter(emulated),
        point.transform_filter(real),
        ring.transform_filter(emulated),
    ]


def labelled(platform: str, emulated: bool) -> str:
    """Name a platform in a legend, which has no hollow marks."""
    return f"{platform} (emulated)" if emulated else platform
