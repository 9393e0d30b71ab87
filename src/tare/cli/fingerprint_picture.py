"""The staircase of memory latency as text: time of a load over size, with the caches marked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tare.fingerprint.document import Fingerprint
from tare.render.words import sentence, text
from tare.results.message import Amount, message
from tare.units import quantity

CURVE = "memory.latency"
_WIDTH, _HEIGHT = 64, 6
#: Fewer points are no staircase.
_FEWEST = 8


def staircase(found: Fingerprint) -> list[str]:
    """Draw the curve of memory latency; nothing where there is none.

    Parameters
    ----------
    found : Fingerprint

    Returns
    -------
    list of str
        Lines. Of several kinds of pages the smallest are drawn, that most programs use.
    """
    points = _points(found)
    if len(points) < _FEWEST:
        return []
    low, high = math.log2(min(points)), math.log2(max(points))
    least, most = math.log(min(points.values())), math.log(max(points.values()))
    if high <= low or most <= least:
        return []

    def column(bytes_: float) -> int:
        return round((math.log2(bytes_) - low) / (high - low) * (_WIDTH - 1))

    def row(nanoseconds: float) -> int:
        return round((math.log(nanoseconds) - least) / (most - least) * (_HEIGHT - 1))

    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    caches = _caches(found)
    for bytes_ in caches.values():
        if low <= math.log2(bytes_) <= high:
            for line in grid:
                line[column(bytes_)] = "┊"
    for bytes_, nanoseconds in points.items():
        grid[row(nanoseconds)][column(bytes_)] = "•"
    labels = {_HEIGHT - 1: math.exp(most), 0: math.exp(least)}
    lines = ["", sentence(message("fingerprint.staircase.title"))]
    for number in range(_HEIGHT - 1, -1, -1):
        label = quantity(labels[number], "ns") if number in labels else ""
        lines.append(f"{label:>9} │{''.join(grid[number]).rstrip()}")
    lines.append(" " * 10 + "└" + "─" * _WIDTH)
    first, last = (quantity(end, "bytes") for end in (min(points), max(points)))
    lines.append(" " * 11 + first + last.rjust(_WIDTH - len(first)))
    told = [
        message("fingerprint.staircase.cache", name=name.upper(), size=Amount(bytes_, "bytes"))
        for name, bytes_ in caches.items()
    ]
    if told:
        lines.append(" " * 11 + text(message("fingerprint.staircase.caches", caches=told)))
    return lines


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


def _caches(found: Fingerprint) -> dict[str, float]:
    return {
        level: found.metrics[f"memory.cache.{level}"].value
        for level in ("l1", "l2", "l3")
        if f"memory.cache.{level}" in found.metrics
    }
