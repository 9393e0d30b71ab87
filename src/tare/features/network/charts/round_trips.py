"""Round trips, idle against loaded, as shares that take no longer (CLOUDNET, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.features.network.charts.series import Series, named
from tare.networks.recording.histogram import EDGES_NS, Times
from tare.render.charts.lines import Axis, Line, lines
from tare.render.words import paragraph
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

#: Kinds of round trips that are drawn, and their names.
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
    drawn = [line for one in some for line in _lines(one)]
    if not drawn:
        return None
    x, y = Axis("round trip", "ns"), Axis("share that takes no longer", "%")
    chart = lines([("", drawn)], x, y, marks=False)
    title = "Round trips, idle and loaded"
    return Figure("round-trips", title, chart, paragraph(caption(some)))


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


def _lines(one: Series) -> Iterator[Line]:
    for kind, word in KINDS.items():
        times = _together(one, kind)
        n = len(times)
        if not n or times.min_ns is None or times.max_ns is None:
            continue
        filled = np.flatnonzero(times.counts)
        shares = 100 * np.cumsum(times.counts[filled]) / n
        ends = np.minimum(EDGES_NS[filled + 1], times.max_ns)
        # Evenly spaced bins, the last one included.
        step = np.unique(np.linspace(0, len(filled) - 1, min(_MOST, len(filled))).astype(int))
        name = f"{one.name}, {word}" if one.name else word
        yield Line(
            name,
            [max(times.min_ns, 1), *ends[step].tolist()],
            [0.0, *shares[step].tolist()],
        )


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
