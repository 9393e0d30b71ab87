"""Numbers with their units: one unit for all that stand together, digits as the interval says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

#: Stored unit to the units that it is shown in, largest first, with their size.
SCALES = {
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "bytes": (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0)),
    "B/s": (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)),
    "bits": (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)),
    "Hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
    "hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
}

#: Digits that an interval's width is shown to, and values that have none.
_WIDTH_DIGITS = 2
_DIGITS = 3
_MOST_PLACES = 5


def scale_for(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Choose the unit in which most of some values read best.

    Parameters
    ----------
    values : iterable of float
        As stored.
    unit : str
        Unit as stored: ``s``, ``ns``, ``bytes``, ``bits``, ``B/s``, ``Hz``, ``%``, or ``1`` for
        none.

    Returns
    -------
    (float, str)
        What to divide by, and the unit then; empty where there is none.
    """
    if unit not in SCALES:
        return 1.0, "" if unit == "1" else unit
    sizes = np.abs(np.fromiter(values, dtype=float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    middle = float(np.median(sizes)) if len(sizes) else 1.0
    name, size = next((s for s in SCALES[unit] if middle >= s[1]), SCALES[unit][-1])
    return size, name


def places_of_width(widths: Iterable[float]) -> int:
    """Return the decimal places that show a typical interval's width to two digits."""
    positive = sorted(w for w in widths if w > 0)
    if not positive:
        return 2
    return _places(positive[len(positive) // 4], _WIDTH_DIGITS)


def places_of(values: Iterable[float]) -> int:
    """Return the decimal places that show most values to three digits."""
    sizes = sorted(abs(v) for v in values if v)
    return _places(sizes[len(sizes) // 2], _DIGITS) if sizes else 0


def _places(size: float, digits: int) -> int:
    return min(_MOST_PLACES, max(0, digits - 1 - math.floor(math.log10(size))))


def fixed(value: float, places: int) -> str:
    """Write a number with so many decimal places, and a true minus sign."""
    text = f"{value:,.{places}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def amounts(unit: str, values: Sequence[float]) -> list[str]:
    """Write values in one unit, with as many decimals: ``["1.20 ms", "13.40 ms"]``."""
    scale, name = scale_for(values, unit)
    scaled = [value / scale for value in values]
    places = places_of(scaled)
    return [f"{fixed(value, places)} {name}".rstrip() for value in scaled]


def amount(unit: str, value: float) -> str:
    """Write a value in the unit in which it reads best: ``41.2 ms``."""
    return amounts(unit, [value])[0]


def interval(unit: str, estimate: float, low: float, high: float) -> str:
    """Write an estimate with its interval, in its unit: ``41.2 ms [39.8, 43.0]``."""
    scale, name = scale_for([estimate], unit)
    places = places_of_width([(high - low) / scale])
    told, *ends = (fixed(value / scale, places) for value in (estimate, low, high))
    return f"{told} {name}".rstrip() + f" [{', '.join(ends)}]"


def span(unit: str, low: float, high: float) -> str:
    """Write two ends in one unit, apart from each other: ``40.12 ms – 40.31 ms``."""
    scale, name = scale_for([low], unit)
    places = places_of_width([(high - low) / scale]) if high > low else places_of([low / scale])
    return " – ".join(f"{fixed(end / scale, places)} {name}".rstrip() for end in (low, high))
