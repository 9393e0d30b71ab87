"""Round trips, idle against loaded, as shares that take no longer (CLOUDNET, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.features.network.charts.over_time import short
from tare.features.network.charts.series import Series, named
from tare.networks.recording.histogram import EDGES_NS, Times
from tare.render.drawing import (
    SERIES,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import paragraph
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

_GUTTER, _HEIGHT = 64, 240
_DASHES: tuple[list[int], ...] = ([], [6, 4], [2, 3], [8, 3, 2, 3])
#: What is drawn, in the order of its dashes.
KINDS = {
    "loaded": "loaded",
    "idle": "idle",
    "smoothed": "smoothed RTT of the stream",
    "segments": "RTT of each segment",
}
#: Points of a curve.
_MOST = 300
#: Curves that the caption gives the numbers of.
_MOST_SAID = 9


def figure(some: Sequence[Series]) -> Figure | None:
    """Draw which share of the round trips takes no longer than what, by decades."""
    records = [r for one in some for r in _records(one)]
    if not records:
        return None
    several = len({one.name for one in some}) > 1
    names = [one.name for one in some]
    kinds = [word for kind, word in KINDS.items() if any(r["kind"] == word for r in records)]
    times = [r["x"] for r in records]
    x = field(
        "x:Q",
        title="round trip [ms]",
        axis={"grid": False, "format": "~g", "tickCount": 7},
        scale={"type": "log", "domain": [min(times), max(times)], "nice": False},
    )
    y = field(
        "y:Q",
        title="share that takes no longer [%]",
        scale={"domain": [0, 100]},
        axis={"minExtent": 46, "maxExtent": 46, "tickCount": 5},
    )
    column, told_apart = ("s", names) if several else ("kind", kinds)
    legend = {"title": None, "columns": 3}
    line = {
        "x": x,
        "color": category(column, told_apart, SERIES, sort=told_apart, legend=legend),
        "strokeDash": category("kind", kinds, _DASHES, sort=kinds, legend=legend),
        "detail": field("s:N"),
        "tooltip": [field("s:N", title="of"), field("x:Q", title="ms"), field("y:Q", title="%")],
    }
    chart = layer(
        mark("rule", {}, [{"y": 50}, {"y": 99}], color=colour("quiet"), strokeDash=[1, 3]),
        mark("line", line, records, strokeWidth=1.8, interpolate="linear"),
        channels={"y": y},
        width=panel_width(1, _GUTTER),
        height=_HEIGHT,
    )
    title = "Round trips, idle and loaded"
    return Figure("round-trips", title, styled(chart, gutter=_GUTTER), paragraph(caption(some)))


def caption(some: Sequence[Series]) -> tuple[Message, ...]:
    """Say the same."""
    said = []
    for one in some:
        for kind, word in KINDS.items():
            times = _together(one, kind)
            p50, p99 = times.quantile_ns(0.5), times.quantile_ns(0.99)
            if p50 is not None and p99 is not None:
                median, tail = Amount(p50, "ns"), Amount(p99, "ns")
                these = message(
                    "{kind}: median {median}, p99 {p99} of {n | counted('round trip')}",
                    kind=word,
                    median=median,
                    p99=tail,
                    n=len(times),
                )
                said.append(named(one.name, these))
    return tuple(said[:_MOST_SAID])


def _records(one: Series) -> list[dict[str, Any]]:
    records = []
    for kind, word in KINDS.items():
        times = _together(one, kind)
        n = len(times)
        if not n or times.min_ns is None or times.max_ns is None:
            continue
        filled = np.flatnonzero(times.counts)
        shares = np.cumsum(times.counts[filled]) / n
        ends = np.minimum(EDGES_NS[filled + 1], times.max_ns)
        # Evenly spaced bins, the last one included.
        step = np.unique(np.linspace(0, len(filled) - 1, min(_MOST, len(filled))).astype(int))
        points = [(max(times.min_ns, 1), 0.0), *zip(ends[step], shares[step], strict=True)]
        records += [
            {"s": one.name, "kind": word, "x": float(f"{x / 1e6:.4g}"), "y": short(100 * y)}
            for x, y in points
        ]
    return records


def _together(one: Series, kind: str) -> Times:
    """Return all round trips of one kind, of all phases."""
    course = one.course
    by_phase = {
        "loaded": course.round_trips,
        "idle": course.idle,
        "smoothed": course.smoothed,
        "segments": course.segment_rtt,
    }
    times = Times()
    for some in by_phase[kind].values():
        times.join(some)
    return times
