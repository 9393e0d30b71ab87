"""Axes that the panels of a sweep share: places across, values of a fixed width upwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tare.render.drawing import field

#: Pixels of labels and title of the upward axis, the same in every panel.
EXTENT = 40
GUTTER = 66
_NUMBER = ",~r"
#: Margin beyond the last place, as a share of the axis.
_ROOM = 0.03


@dataclass(frozen=True)
class Across:
    """The axis of CPUs or memory: the same places in every panel below each other."""

    title: str
    most: float

    def channel(self, *, labels: bool = True) -> dict[str, Any]:
        """Encode the column ``x`` on it; panels between others have no labels."""
        return field(
            "x:Q",
            title=self.title if labels else None,
            scale={"domain": [0, self.most * (1 + _ROOM)], "nice": False},
            axis={
                "tickCount": 8, "format": _NUMBER, "labels": labels, "labelOverlap": "greedy",
                "labelSeparation": 6, "titlePadding": 4,
            },
        )  # fmt: skip


def upwards(
    title: str | None, low: float, high: float, *, ticks: int = 5, nice: bool = True
) -> dict[str, Any]:
    """Describe an upward axis of fixed width, so that panels stand exactly below each other."""
    high = high if high > low else low + 1
    return {
        "title": title,
        "scale": {"domain": [low, high], "nice": nice, "zero": False},
        "axis": {"tickCount": ticks, "format": _NUMBER, "minExtent": EXTENT, "maxExtent": EXTENT},
    }


def rounded(value: float) -> float:
    """Keep as many digits as can be seen."""
    return float(f"{value:.6g}")
