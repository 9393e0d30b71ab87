"""A course over time, with its gaps: bandwidth, round trips, retransmissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.features.network.charts.named import Named
from tare.features.network.charts.series import Series, span_unit
from tare.features.network.charts.thinning import Thinned
from tare.render.drawing import SERIES, SHAPES, colour, data, panel_width, styled
from tare.render.words import text
from tare.results.message import Message, Said, message

GUTTER = 64
_HEIGHT, _SMALL = 220, 130
#: Points of a line below which each has its mark.
_MARKED = 200
_MOST_GAPS = 200
_DIGITS = 5


@dataclass(frozen=True)
class Line:
    """One line of a panel, in the unit that the axis shows."""

    name: str
    thinned: Thinned


@dataclass(frozen=True)
class Panel:
    """The courses of one measurement."""

    title: str
    lines: tuple[Line, ...]
    gaps: tuple[tuple[float, float, Said], ...]
    end_s: float


def panels(some: Sequence[Series], lines: Mapping[int, tuple[Line, ...]]) -> list[Panel]:
    """Put the lines of each series into the panel of its measurement.

    Parameters
    ----------
    some : sequence of Series
    lines : mapping
        By place in ``some``.
    """
    found: dict[int, Panel] = {}
    several = len({id(one.measured) for one in some}) > 1
    for number, one in enumerate(some):
        key = id(one.measured)
        before = found[key].lines if key in found else ()
        found[key] = Panel(
            title=one.measured.name if several else "",
            lines=(*before, *lines.get(number, ())),
            gaps=one.measured.gaps[:_MOST_GAPS],
            end_s=one.measured.end_s,
        )
    return [panel for panel in found.values() if any(len(line.thinned) for line in panel.lines)]


def draw(some: Sequence[Panel], title: str, *, log: bool = False) -> Any:
    """Draw panels below each other on one axis of values.

    Parameters
    ----------
    some : sequence of Panel
    title : str
        Of the values' axis.
    log : bool
        Whether they span decades.

    Returns
    -------
    dict or None
        Vega-Lite. Bands go from the least to the most of what one point stands for, lines through
        the medians; what is shaded is a gap.
    """
    import altair as alt

    if not some:
        return None
    names = list(dict.fromkeys(line.name for panel in some for line in panel.lines))
    values = np.concatenate([line.thinned.high for panel in some for line in panel.lines])
    lows = np.concatenate([line.thinned.low for panel in some for line in panel.lines])
    positive = lows[lows > 0]
    low = float(positive.min()) / 1.2 if log and len(positive) else 0.0
    scale = alt.Scale(
        type="log" if low > 0 else "linear",
        domain=[low, max(1.05 * float(values.max(initial=0.0)), 2 * low, 1e-9)],
        nice=low == 0,
    )
    height = _HEIGHT if len(some) == 1 else _SMALL
    upwards = {"title": title, "scale": scale, "axis": _axis()}
    named, drawn = Named(), []
    for panel in some:
        one = _panel(panel, names, upwards, named)
        one = one.properties(width=panel_width(1, GUTTER), height=height)
        drawn.append(one.properties(title=panel.title) if panel.title else one)
    chart = drawn[0] if len(drawn) == 1 else alt.vconcat(*drawn, spacing=18)
    return named.spec(styled(chart, gutter=GUTTER))


def _axis() -> Any:
    import altair as alt

    return alt.Axis(tickCount=5, minExtent=46, maxExtent=46, format=",~r")


def _panel(panel: Panel, names: list[str], upwards: dict[str, Any], named: Named) -> Any:
    import altair as alt

    size, unit = span_unit(panel.end_s)
    y = alt.Y("y:Q", **upwards)
    # What begins earlier than another would otherwise seem to last as long.
    x = alt.X("x:Q", title=f"time [{unit}]", axis=alt.Axis(grid=False, tickCount=8, format=",~r"),
              scale=alt.Scale(domain=[0, max(panel.end_s / size, 1e-9)], nice=False))  # fmt: skip
    records = [r for line in panel.lines for r in _records(line, size)]
    several = len(names) > 1
    colours = alt.Color(
        "s:N", sort=names,
        scale=alt.Scale(domain=names, range=[SERIES[i % 8] for i in range(len(names))]),
        legend=alt.Legend(title=None, columns=3, symbolOpacity=1) if several else None,
    )  # fmt: skip
    base = alt.Chart(named.data(records)).encode(x=x, color=colours, detail="p:N")
    layers = [_gaps(panel, size, x)] if panel.gaps else []
    if any(line.thinned.each > 1 for line in panel.lines):
        band = base.mark_area(opacity=0.22)
        layers.append(band.encode(y=alt.Y("low:Q", **upwards), y2="high:Q"))
    layers.append(base.mark_line(strokeWidth=1.4).encode(y=y))
    if max(len(line.thinned) for line in panel.lines) <= _MARKED:
        shapes = alt.Shape(
            "s:N", sort=names,
            legend=alt.Legend(title=None, columns=3, symbolOpacity=1) if several else None,
            scale=alt.Scale(domain=names, range=[SHAPES[i % 8] for i in range(len(names))]),
        )  # fmt: skip
        points = base.mark_point(filled=True, size=22, opacity=1)
        tips = [
            alt.Tooltip("x:Q", title=f"time [{unit}]"),
            alt.Tooltip("y:Q", title=upwards["title"]),
        ]
        layers.append(points.encode(y=y, shape=shapes, tooltip=tips))
    return alt.layer(*layers)


def _gaps(panel: Panel, size: float, x: Any) -> Any:
    import altair as alt

    records = [{"x": a / size, "x2": b / size, "why": text(why)} for a, b, why in panel.gaps]
    # One that takes no time is seen all the same.
    rects = alt.Chart(data(records)).mark_rect(
        color=colour("band"), stroke=colour("quiet"), strokeDash=[3, 3], strokeWidth=0.8
    )
    return rects.encode(x=x, x2="x2:Q", tooltip=["why:N"])


def _records(line: Line, size: float) -> list[dict[str, Any]]:
    thinned = line.thinned
    columns = zip(
        thinned.at_s / size, thinned.low, thinned.middle, thinned.high, thinned.part, strict=True
    )
    return [
        {"s": line.name, "p": f"{line.name} {part}", "x": _short(x), "low": _short(low),
         "y": _short(middle), "high": _short(high)}
        for x, low, middle, high, part in columns
    ]  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def thinning(some: Sequence[Panel]) -> tuple[Message, ...]:
    """Say what a point stands for, where it stands for more than one interval."""
    each = max((line.thinned.each for panel in some for line in panel.lines), default=1)
    return () if each == 1 else (message("net.chart.thinned", n=each),)
