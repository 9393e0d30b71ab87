"""Lines over time with their gaps: panels below each other, or side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tare.render.charts.thinning import MOST_BINS, Thinned, thin
from tare.render.drawing import (
    GAP,
    MOST_MARKS,
    SERIES,
    Chart,
    by_series,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import text
from tare.results.message import Said
from tare.statistics.statistic import FloatArray
from tare.units import scale_for

#: Pixels that the axes of a panel take beside it.
GUTTER = 64
_HEIGHT, _SMALL = 220, 130
#: Points of a panel up to which each has its mark.
_MARKED = 200
#: Fewest bins of a line, however many there are.
_FEWEST_BINS = 60
#: Gaps of a panel that are shaded; more are no wider than a pixel.
_MOST_GAPS = 200
#: Units of the axis of time, with the shortest span in seconds that has each.
_SPANS = ((3 * 86_400.0, 86_400.0, "days"), (3 * 3600.0, 3600.0, "h"), (300.0, 60.0, "min"))


@dataclass(frozen=True)
class Timeline:
    """Values of intervals in order of time, as stored; NaN: nothing is drawn there.

    Attributes
    ----------
    is_other : bool
        Whether it is one of those that have a pale colour together.
    """

    name: str
    start_s: FloatArray
    end_s: FloatArray
    values: FloatArray
    is_other: bool = False


@dataclass(frozen=True)
class Level:
    """A value that holds for the whole time, with its interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """Lines over one axis of time, which begins at 0, and one of values.

    Attributes
    ----------
    title, unit : str
        Of the axis of values, and of the values as stored. Panels that have both in common have
        one scale.
    end_s : float
        End of the axis of time.
    gaps : sequence of (float, float, Said)
        Start and end in seconds, and reason: lines are interrupted. Without a reason, it is not
        shaded.
    moments : sequence of (float, str)
        Seconds at which a rule stands, and its label.
    """

    title: str
    unit: str
    end_s: float
    lines: Sequence[Timeline]
    heading: str = ""
    gaps: Sequence[tuple[float, float, Said]] = ()
    levels: Sequence[Level] = ()
    moments: Sequence[tuple[float, str]] = ()
    is_logarithmic: bool = False


def timelines(panels: Sequence[Panel], *, columns: int = 1) -> tuple[Chart, int]:
    """Draw lines through the medians of what their points stand for, with minima and maxima.

    Returns
    -------
    (Chart, int)
        The chart, and the most intervals that one point stands for.
    """
    drawn, most = drawn_panels(panels, columns)
    chart = drawn[0]
    if len(drawn) > 1:
        spacing = {"row": 18, "column": GAP + 8}
        chart = {"concat": drawn, "columns": columns, "spacing": spacing}
    return styled(chart, columns=columns, gutter=columns * GUTTER), most


def drawn_panels(
    panels: Sequence[Panel], columns: int = 1, height: int | None = None
) -> tuple[list[Chart], int]:
    """Return the same as views, for a chart that has others too."""
    bins = max(_FEWEST_BINS, MOST_MARKS // max(1, sum(len(panel.lines) for panel in panels)))
    thinned = [
        [
            thin(line.start_s, line.end_s, line.values, panel.gaps, min(bins, MOST_BINS))
            for line in panel.lines
        ]
        for panel in panels
    ]
    height = height or (_HEIGHT if len(panels) == 1 else _SMALL)
    size = {"width": panel_width(columns, columns * GUTTER), "height": height}
    series = _series([line for panel in panels for line in panel.lines])
    drawn = []
    for panel, points in zip(panels, thinned, strict=True):
        alike = [
            one
            for other, some in zip(panels, thinned, strict=True)
            if (other.title, other.unit) == (panel.title, panel.unit)
            for one in some
        ]
        heading = {"title": panel.heading} if panel.heading else {}
        drawn.append({**_panel(panel, points, alike, series), **size, **heading})
    return drawn, max((one.each for some in thinned for one in some), default=1)


def time_axis(end_s: float) -> tuple[dict[str, Any], float]:
    """Return the axis of time from 0 to an end, in field ``x``, and the seconds of its unit."""
    size, unit = next(((size, name) for least, size, name in _SPANS if end_s >= least), (1.0, "s"))
    # Axes begin at 0, so that measurements of different lengths can be compared.
    axis = field(
        "x:Q",
        title=f"time [{unit}]",
        axis={"grid": False, "tickCount": 8, "format": ",~r"},
        scale={"domain": [0, max(end_s / size, 1e-9)], "nice": False},
    )
    return axis, size


def short(value: float) -> float:
    """Return a number with as many digits as a chart shows."""
    return float(f"{value:.5g}")


def _series(every: Sequence[Timeline]) -> dict[str, Any]:
    """Give each name its colour and its shape; other lines are pale."""
    names = list(dict.fromkeys(line.name for line in every if not line.is_other))
    others = list(dict.fromkeys(line.name for line in every if line.is_other))
    if others:
        colours = [*SERIES[: len(names)], *(colour("quiet") for _ in others)]
        return {"color": category("s", [*names, *others], colours, legend={"title": None})}
    return dict(zip(("color", "shape"), by_series(names, "s"), strict=True)) if names else {}


def _panel(
    panel: Panel, points: Sequence[Thinned], alike: Sequence[Thinned], series: dict[str, Any]
) -> Chart:
    x, second = time_axis(panel.end_s)
    y, size = _upwards(panel, alike)
    records = [
        {"s": line.name, "p": f"{i} {part}", "x": short(at / second), "low": short(low / size),
         "y": short(middle / size), "high": short(high / size)}
        for i, (line, one) in enumerate(zip(panel.lines, points, strict=True))
        for at, low, middle, high, part in zip(
            one.at_s, one.low, one.middle, one.high, one.part, strict=True
        )
    ]  # fmt: skip
    at, ends = {"y": field("y:Q", **y)}, {"y": field("low:Q", **y), "y2": field("high")}
    layers = [mark("line", at, strokeWidth=1.4)]
    if any(one.each > 1 for one in points):
        layers.insert(0, mark("area", ends, opacity=0.22))
    if "shape" in series and sum(map(len, points)) <= _MARKED:
        tips = [field("s:N", title="of"), field("x:Q", title=x["title"]),
                field("y:Q", title=y["title"])]  # fmt: skip
        point = {**at, "shape": series["shape"], "tooltip": tips}
        layers.append(mark("point", point, filled=True, size=22, opacity=1))
    channels = {"x": x, "detail": field("p:N")}
    if series:
        channels["color"] = series["color"]
    return layer(
        *_gaps(panel, x, second),
        layer(*layers, rows=records, channels=channels),
        *_levels(panel, at, ends, size),
        *_moments(panel, x, second),
    )


def _upwards(panel: Panel, alike: Iterable[Thinned]) -> tuple[dict[str, Any], float]:
    """Return the axis of values, and what to divide these by."""
    lows = [float(v) for one in alike for v in one.low if v > 0] if panel.is_logarithmic else []
    most = max((float(one.high.max(initial=0.0)) for one in alike), default=0.0)
    most = max(most, *(level.high for level in panel.levels), 0.0)
    size, unit = scale_for([most], panel.unit)
    low, high = (min(lows) / 1.2 if lows else 0.0) / size, most / size
    scale = {
        "type": "log" if low > 0 else "linear",
        "domain": [low, max(1.05 * high, 2 * low, 1e-9)],
        "nice": low == 0,
    }
    axis = {"tickCount": 5, "minExtent": 46, "maxExtent": 46, "format": ",~r"}
    return {"title": f"{panel.title} [{unit}]", "scale": scale, "axis": axis}, size


def _gaps(panel: Panel, x: dict[str, Any], second: float) -> list[Chart]:
    records = [
        {"x": a / second, "x2": b / second, "why": text(why)}
        for a, b, why in panel.gaps[:_MOST_GAPS]
        if why
    ]
    if not records:
        return []
    channels = {"x": x, "x2": field("x2"), "tooltip": [field("why:N")]}
    # The outline shows also a gap that takes no time.
    return [mark("rect", channels, records, color=colour("band"), stroke=colour("quiet"),
                 strokeDash=[3, 3], strokeWidth=0.8)]  # fmt: skip


def _levels(panel: Panel, at: Chart, ends: Chart, size: float) -> list[Chart]:
    """Draw each level as a dashed line with its name, its interval as a band."""
    records = [
        {"s": one.name, "y": short(one.value / size), "low": short(one.low / size),
         "high": short(one.high / size)}
        for one in panel.levels
    ]  # fmt: skip
    if not records:
        return []
    name = {**at, "x": {"value": "width"}, "text": field("s:N")}
    return [
        layer(
            mark("rect", ends, opacity=0.25, color=colour("mark")),
            mark("rule", at, strokeDash=[6, 4], color=colour("mark")),
            mark("text", name, align="right", dy=-7, dx=-3, color=colour("ink")),
            rows=records,
        )
    ]


def _moments(panel: Panel, x: dict[str, Any], second: float) -> list[Chart]:
    """Draw moments as rules, with their labels at the side that has room."""
    if not panel.moments:
        return []
    records = [
        {"x": short(at / second), "told": told, "late": at > panel.end_s / 2}
        for at, told in panel.moments
    ]
    words = [
        mark("text", {"y": {"value": "height"}, "text": field("told:N")},
             where=f"datum.late == {late}", align=align, dx=dx, dy=-4, baseline="bottom",
             color=colour("ink"))
        for late, align, dx in (("true", "right", -5), ("false", "left", 5))
    ]  # fmt: skip
    rule = mark("rule", {}, strokeWidth=1.4, color=colour("ink"))
    return [layer(rule, *words, rows=records, channels={"x": x})]
