"""Numbers of a network in words."""

from __future__ import annotations

from tare.statistics.telling import significant


def stamp(seconds: float) -> str:
    """Write a moment of a trace as it would be looked up there: "2,993 s"."""
    return f"{significant(seconds, 4) if seconds < 1000 else f'{seconds:,.0f}'} s"


def span(seconds: float) -> str:
    """Write how long something lasts: "9 s", "14 min", "3.5 h"."""
    if seconds < 100:
        return f"{significant(seconds, 2)} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{significant(seconds / 3600, 2)} h"
