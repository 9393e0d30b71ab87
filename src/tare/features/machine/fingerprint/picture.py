"""The staircase of memory latency as text: time of a load over size, with the caches marked."""

from __future__ import annotations

from collections.abc import Mapping

from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint.page_groups import caches, caches_found
from tare.render.text_plot import Axis, TextPlot
from tare.render.words import text
from tare.results.message import message
from tare.units import quantity

CURVE = "memory.latency"
_WIDTH, _HEIGHT = 64, 6
#: Fewer points are no staircase.
_FEWEST = 8


def staircase(found: Fingerprint) -> tuple[str, ...]:
    """Draw the curve of memory latency, of the smallest pages; nothing where there is none."""
    points = _points(found)
    if len(points) < _FEWEST:
        return ()
    sizes, times = (min(points), max(points)), (min(points.values()), max(points.values()))
    if sizes[0] == sizes[1] or times[0] == times[1]:
        return ()
    plot = TextPlot(Axis(*sizes, logarithmic=True), Axis(*times, logarithmic=True), _WIDTH, _HEIGHT)
    for bytes_ in caches_found(found.metrics).values():
        plot.upright(bytes_, "┊")
    for bytes_, nanoseconds in points.items():
        plot.mark(bytes_, nanoseconds, "•")
    lines = plot.lines(lambda x: quantity(x, "bytes"), lambda y: quantity(y, "ns"))
    if told := caches(found.metrics):
        lines.append(" " * 11 + text(message("┊ caches found: {caches | join(', ')}", caches=told)))
    return tuple(lines)


def _points(found: Fingerprint) -> Mapping[int, float]:
    curve = found.curves.get(CURVE)
    if curve is None or not curve.axes:
        return {}
    pages = {point.at[1:] for point in curve.points}
    some = min(pages, default=())
    return {
        point.at[0]: point.value
        for point in curve.points
        if point.at[1:] == some and point.at[0] > 0 and point.value > 0
    }
