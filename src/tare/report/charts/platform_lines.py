"""Values over sizes, a line a platform: what the charts of platforms have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.drawing import SERIES, SHAPES

#: Levels of the axis of sizes that have a label, and factors of its first and last one around.
_ROOM = 1.25


def series(results: Any, basis: Any = None) -> list[str]:
    """Return every platform that has trials, in the order of the experiment."""
    return list(dict.fromkeys(str(p) for p in results.trial_table["platform"]))


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


def tell_emulated(some: Sequence[str]) -> str:
    """Say which marks are hollow; empty where none is."""
    if not some:
        return ""
    names = ", ".join(some)
    return f" Hollow and dashed, emulated, whose times are no measure of a VM: {names}."
