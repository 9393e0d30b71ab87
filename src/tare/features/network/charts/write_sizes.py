"""Bandwidth, round trips and what was sent again, by size of writes (CLOUDNET, Figure 12)."""

from __future__ import annotations

from collections.abc import Sequence

from tare.features.network import phrases
from tare.render.charts.lines import Axis, Line, lines
from tare.render.words import sentence
from tare.results.message import Amount, message
from tare.results.report import Figure
from tare.units import chosen


def by_write_size(name: str, title: str, unit: str, some: Sequence[Line]) -> Figure | None:
    """Draw values over the size of writes; None where no line has two sizes."""
    some = [line for line in some if len(line.x) > 1]
    if not some:
        return None
    chart = lines([("", some)], Axis("size of writes", "bytes"), Axis(title.lower(), unit))
    parts = [
        message(
            phrases.FINGERPRINT_FIGURE,
            name=f"{line.name}, {size}" if len(some) > 1 else size,
            value=Amount(y, unit, low, high),
        )
        for line in some
        for x, y, low, high in zip(line.x, line.y, line.low, line.high, strict=True)
        for size in (chosen(x, "bytes"),)
    ]
    said = sentence(message(phrases.CHART_PARTS, parts=parts))
    return Figure(name, f"{title} by the size of writes", chart, said)
