"""Courses over time, with their gaps: bandwidth, round trips, retransmissions, the total sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.features.network.charts.series import Series, named, rate_unit, span_unit
from tare.features.network.charts.thinning import Thinned, thin
from tare.networks.recording.folder import groups, sending
from tare.networks.recording.histogram import Floats
from tare.render.drawing import (
    SERIES,
    SHAPES,
    Chart,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import paragraph, text
from tare.results.message import Amount, Message, Said, message
from tare.results.report import Figure
from tare.units import scale_for

GUTTER = 64
#: Axis of values, as wide in every chart.
VALUE_AXIS = {"tickCount": 5, "minExtent": 46, "maxExtent": 46, "format": ",~r"}
_HEIGHT, _SMALL = 220, 130
#: Points of a line below which each has its mark.
_MARKED = 200
_MOST_GAPS = 200
#: Columns of the quantiles that are drawn.
_QUANTILES = {"median": 0, "99th percentile": 2}

#: Values of each interval of a series, by the name of the line.
_Lines = Mapping[str, Floats]


@dataclass(frozen=True)
class _Panel:
    """The courses of one measurement, by name, in the unit that the axis shows."""

    title: str
    lines: dict[str, Thinned]
    gaps: tuple[tuple[float, float, Said], ...]
    end_s: float


def bandwidth(some: Sequence[Series]) -> Figure | None:
    """Draw the bandwidth of each interval that sent for most of what it could."""
    every, said = [], []
    for one in some:
        used = np.zeros(len(one.course), dtype=bool)
        for phases in groups(one.measured):
            used |= sending(one.course, phases)
        rates = np.where(used, one.course.rate_bps, np.nan)
        every.append(rates)
        if np.isfinite(rates).any():
            low, high = (Amount(float(f(rates)), "bits/s") for f in (np.nanmin, np.nanmax))
            n = int(np.isfinite(rates).sum())
            said.append(
                named(
                    one.name,
                    message(
                        "{n | counted('interval')} carried {low} to {high}", low=low, high=high, n=n
                    ),
                )
            )
    if any(one.measured.gaps for one in some):
        said.append(message("nothing was measured in the shaded parts"))
    size, unit = rate_unit([float(np.nanmax(r)) for r in every if np.isfinite(r).any()])
    lines: list[_Lines] = [
        {one.course.direction: r / size} for one, r in zip(some, every, strict=True)
    ]
    return _figure("bandwidth", "Bandwidth over time", f"payload [{unit}]", some, lines, said)


def round_trips(some: Sequence[Series]) -> Figure | None:
    """Draw median and 99th percentile of each interval in which data was sent, by decades."""
    lines: list[_Lines] = [
        {
            name: np.where(one.course.sends, one.course.round_trip_ns[:, column] / 1e6, np.nan)
            for name, column in _QUANTILES.items()
        }
        # Round trips are drawn for the first direction only.
        if one.course is next(iter(one.measured.courses.values()))
        else {}
        for one in some
    ]
    said = [
        message(
            "median and 99th percentile of the round trips of small messages, for each interval "
            "in which data was sent"
        )
    ]
    return _figure(
        "latency-over-time", "Round trips over time", "round trip [ms]", some, lines, said, log=True
    )


def retransmits(some: Sequence[Series]) -> Figure | None:
    """Draw the share of segments that each interval sent again; None where none was."""
    if not any(one.course.retransmits.any() for one in some):
        return None
    lines: list[_Lines] = []
    for course in (one.course for one in some):
        with np.errstate(divide="ignore", invalid="ignore"):
            made = course.acked_bytes / course.segment_bytes
            sent = np.where(np.isfinite(course.segments), course.segments, made)
            share = np.where(sent > 0, 100 * course.retransmits / sent, np.nan)
        share = np.where((course.on_s > 0) & np.isfinite(share), np.minimum(share, 100), np.nan)
        lines.append({course.direction: share})
    said = [message("share of the segments that were retransmitted, for each interval")]
    title = "Retransmissions over time"
    return _figure("retransmits", title, "retransmitted [%]", some, lines, said)


def total(some: Sequence[Series]) -> Figure | None:
    """Draw how much was acknowledged until the middle of each interval.

    A bucket that is empty bends it (CLOUDNET, Figure 10).
    """
    sent = [8 * one.course.acked_bytes for one in some]
    size, unit = scale_for([max((float(bits.sum()) for bits in sent), default=0.0) / 3], "bits")
    lines: list[_Lines] = [
        {one.course.direction: (np.cumsum(bits) - bits / 2) / size}
        for one, bits in zip(some, sent, strict=True)
    ]
    axis = f"total payload [{unit}]"
    return _figure("total", "Total sent over time", axis, some, lines, totals(some))


def totals(some: Sequence[Series]) -> list[Message]:
    """Say how much was sent in all."""
    return [
        named(one.name, message("{sent} of payload in total", sent=Amount(8 * float(sent), "bits")))
        for one in some
        if len(one.course)
        for sent in (one.course.acked_bytes.sum(),)
    ]


def _figure(
    name: str,
    title: str,
    axis: str,
    some: Sequence[Series],
    lines: Sequence[_Lines],
    said: Sequence[Message],
    *,
    log: bool = False,
) -> Figure | None:
    """Draw the lines of each series, a panel for each measurement; None if there are no values.

    Bands go from the least to the most of what one point stands for, lines through the medians;
    what is shaded is a gap.
    """
    drawn = _panels(some, lines)
    if not drawn:
        return None
    names = list(dict.fromkeys(line for panel in drawn for line in panel.lines))
    every = [line for panel in drawn for line in panel.lines.values()]
    lows = np.concatenate([line.low for line in every])
    low = float(lows[lows > 0].min()) / 1.2 if log and (lows > 0).any() else 0.0
    high = max(float(line.high.max(initial=0.0)) for line in every)
    scale = {
        "type": "log" if low > 0 else "linear",
        "domain": [low, max(1.05 * high, 2 * low, 1e-9)],
        "nice": low == 0,
    }
    height = _HEIGHT if len(drawn) == 1 else _SMALL
    y = {"title": axis, "scale": scale, "axis": VALUE_AXIS}
    panels = [
        layer(*_layers(panel, names, y), width=panel_width(1, GUTTER), height=height)
        | ({"title": panel.title} if panel.title else {})
        for panel in drawn
    ]
    chart = panels[0] if len(panels) == 1 else {"vconcat": panels, "spacing": 18}
    each = max(line.each for line in every)
    if each > 1:
        said = [
            *said,
            message(
                "each point stands for up to {n | counted('interval')}: the line is their "
                "median, the band goes from their minimum to their maximum",
                n=each,
            ),
        ]
    return Figure(name, title, styled(chart, gutter=GUTTER), paragraph(tuple(said)))


def _panels(some: Sequence[Series], lines: Sequence[_Lines]) -> list[_Panel]:
    """Put the lines of each series into the panel of its measurement."""
    found: dict[int, _Panel] = {}
    several = len({id(one.measured) for one in some}) > 1
    for one, values in zip(some, lines, strict=True):
        measured, course = one.measured, one.course
        title = measured.name if several else ""
        panel = _Panel(title, {}, measured.gaps[:_MOST_GAPS], measured.end_s)
        found.setdefault(id(measured), panel).lines.update(
            {
                name: thin(course.start_s, course.end_s, v, measured.gaps)
                for name, v in values.items()
            }
        )
    return [panel for panel in found.values() if any(map(len, panel.lines.values()))]


def time_axis(end_s: float) -> dict[str, Any]:
    """Return the axis of time from 0 to an end."""
    size, unit = span_unit(end_s)
    # Axes begin at 0, so that measurements of different lengths can be compared.
    return field(
        "x:Q",
        title=f"time [{unit}]",
        axis={"grid": False, "tickCount": 8, "format": ",~r"},
        scale={"domain": [0, max(end_s / size, 1e-9)], "nice": False},
    )


def _layers(panel: _Panel, names: list[str], y: dict[str, Any]) -> list[Chart]:
    x = time_axis(panel.end_s)
    several = len(names) > 1
    legend = {"title": None, "columns": 3, "symbolOpacity": 1} if several else None
    colours, shapes = (
        category("s", names, values, sort=names, legend=legend) for values in (SERIES, SHAPES)
    )
    layers = band_and_line(panel.lines.values(), y)
    if max(map(len, panel.lines.values())) <= _MARKED:
        tips = [field("x:Q", title=x["title"]), field("y:Q", title=y["title"])]
        at = {"y": field("y:Q", **y), "shape": shapes, "tooltip": tips}
        layers.append(mark("point", at, filled=True, size=22, opacity=1))
    channels = {"x": x, "color": colours, "detail": field("p:N")}
    drawn = layer(*layers, rows=timeline_rows(panel.lines, panel.end_s), channels=channels)
    return [_gaps(panel, x), drawn] if panel.gaps else [drawn]


def timeline_rows(
    lines: Mapping[str, Thinned], end_s: float, size: float = 1.0
) -> list[dict[str, Any]]:
    """Return the rows of timelines by name, in a unit of values."""
    seconds, _ = span_unit(end_s)
    return [
        {"s": name, "p": f"{name} {part}", "x": short(at / seconds), "low": short(low / size),
         "y": short(middle / size), "high": short(high / size)}
        for name, line in lines.items()
        for at, low, middle, high, part in zip(
            line.at_s, line.low, line.middle, line.high, line.part, strict=True
        )
    ]  # fmt: skip


def band_and_line(lines: Iterable[Thinned], y: dict[str, Any]) -> list[Chart]:
    """Draw medians as a line, and what they stand for as a band, where that is several."""
    drawn = [mark("line", {"y": field("y:Q", **y)}, strokeWidth=1.4)]
    if any(line.each > 1 for line in lines):
        ends = {"y": field("low:Q", **y), "y2": field("high")}
        drawn.insert(0, mark("area", ends, opacity=0.22))
    return drawn


def _gaps(panel: _Panel, x: dict[str, Any]) -> Chart:
    size, _ = span_unit(panel.end_s)
    records = [{"x": a / size, "x2": b / size, "why": text(why)} for a, b, why in panel.gaps]
    channels = {"x": x, "x2": field("x2"), "tooltip": [field("why:N")]}
    # The outline shows also a gap that takes no time.
    return mark("rect", channels, records, color=colour("band"), stroke=colour("quiet"),
                strokeDash=[3, 3], strokeWidth=0.8)  # fmt: skip


def short(value: float) -> float:
    """Return a number with as many digits as a chart shows."""
    return float(f"{value:.5g}")
