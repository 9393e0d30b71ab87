"""Axes of lines: logarithmic where numbers span much, with labels that people read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tare.render.drawing import IN_LINE, axis

#: An axis that spans more than this factor is logarithmic.
_WIDE = 12
#: Different places on an axis up to which each is labelled.
_MOST_TICKS = 12
_NUMBER = ",~r"
#: Range of the ratio of the smallest to the largest value in which an axis does not begin at 0;
#: above it, values that hardly differ are to look flat.
_HIGH, _FLAT = 0.35, 0.9
_BEYOND = 3
#: Room around sizes, as a factor.
_ROOM = 1.25
#: An axis that spans less than this factor has labels in even steps: at most so many.
_SHORT, _MOST_LABELS = 2.5, 7
#: A size in bytes as people write it, in Vega's language.
_BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' KiB' : "
    "format(datum.value, '~r') + ' B'"
)


def _is_wide(values: Sequence[float]) -> bool:
    known = [v for v in values if v > 0]
    return len(known) == len(values) > 0 and max(known) > _WIDE * min(known)


def across(
    title: str, unit: str, values: Sequence[float], stored: str, *, even: bool = False
) -> dict[str, Any]:
    """Describe the axis along which lines go: sizes in powers of two, wide spans by decades."""
    scale: dict[str, Any]
    look: dict[str, Any]
    low, high = min(values), max(values)
    wide = not even and _is_wide(values)
    named = f"{title} [{unit}]" if unit else title
    if stored == "bytes":
        scale = {"type": "log", "base": 2, "domain": [low, max(high, low * 2)]}
        look = {"values": _powers(low, high), "labelExpr": _BYTES, "labelFlush": True}
    elif wide:
        scale = {"type": "log", "domain": [low, high]}
        look = {"values": _ticks(low, high), "format": _NUMBER, "labelFlush": True}
    else:
        room = 0.03 * (high - low) or 0.5
        scale = {"domain": [low - room, high + room]}
        look = {"tickCount": 6, "format": _NUMBER}
        # Counts have no values between them.
        if len(each := sorted(set(values))) <= _MOST_TICKS:
            look["values"] = each
    scale["nice"] = False
    return axis(named, scale, **look, grid=False, labelOverlap="greedy", labelSeparation=6)


def _powers(low: float, high: float) -> list[int]:
    """Powers of two to label, a factor of four apart."""
    first = max(0, int(low).bit_length() - 1)
    return [1 << p for p in range(first + first % 2, int(high).bit_length(), 2)]


def upwards(
    title: str, unit: str, values: Sequence[float], ends: Sequence[float], *, even: bool = False
) -> dict[str, Any]:
    """Describe the axis of values: by decades where they span much, else from zero or near."""
    least, most = min(values), max(values)
    look: dict[str, Any] = {"tickCount": 5, **IN_LINE, "format": _NUMBER}
    # An interval that reaches far beyond all values is cut off.
    if not even and _is_wide(values):
        low = max(min((least, *ends)), least / _BEYOND) / 1.3
        high = min(max((most, *ends)), most * _BEYOND) * 1.3
        scale: dict[str, Any] = {"type": "log", "nice": False, "domain": [low, high]}
        look["values"] = _ticks(low, high)
    else:
        room = max(most - least, 0.1 * abs(most)) / 2
        low, high = max(min((least, *ends)), least - room), min(max((most, *ends)), most + room)
        share = least / most if most > 0 else 0.0
        low = low if not even and _HIGH < share < _FLAT else min(0.0, low)
        scale = {"domain": [low, high if high > low else low + 1], "nice": True}
    return axis(f"{title} [{unit}]" if unit else title, scale, **look)


def sizes_axis(sizes: Iterable[float], title: str, most: float = 1.0) -> dict[str, Any]:
    """Describe a logarithmic axis that is labelled at the sizes that there are.

    Parameters
    ----------
    most : float
        The largest factor by which marks stand to the right of their size.
    """
    known = sorted(set(sizes))
    domain = [known[0] / _ROOM, known[-1] * _ROOM * most]
    scale = {"type": "log", "base": 2, "domain": domain, "nice": False}
    return axis(title, scale, values=known, format="~g", labelOverlap="greedy", grid=False)


def _ticks(low: float, high: float) -> list[float]:
    """Decades with steps between them, as many as can be read; even steps of a short axis."""
    if high / low <= _SHORT:
        step = next(
            float(f"{step}e{power}")
            for power in range(-9, 13)
            for step in (1, 2, 5)
            if (high - low) / (step * 10.0**power) <= _MOST_LABELS
        )
        return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [
            float(f"{step}e{power}")
            for power in range(-9, 13)
            for step in steps
            if low <= step * 10.0**power <= high
        ]
        if len(found) <= 8:
            return found
    return found[:: len(found) // 8 + 1]
