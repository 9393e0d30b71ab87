"""Every figure relative to its prediction: how far the machine is from its specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.render.charts.forest import Ratio, draw_ratios
from tare.render.drawing import Chart
from tare.results.verdict import EQUIVALENT, HIGHER, LOWER

#: Largest factor between a figure and its prediction at which it counts as near.
NEAR = 1.25


@dataclass(frozen=True)
class Beside:
    """One figure as a multiple of its prediction."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    measured: str
    predicted: str


def beside(rows: Sequence[Beside]) -> Chart:
    """Draw the ratio of each figure to its prediction; the band is a quarter.

    Parameters
    ----------
    rows : sequence of Beside
        In the order in which they are to stand.

    Returns
    -------
    Chart
        What lies in the band is a circle, what lies beyond has its shape by the side; a ring has no
        interval.
    """
    return draw_ratios([_ratio(row) for row in rows], NEAR - 1, "measured ÷ predicted")


def _ratio(row: Beside) -> Ratio:
    near = 1 / NEAR <= row.ratio <= NEAR
    return Ratio(
        level="",
        where=row.name,
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        verdict=EQUIVALENT if near else HIGHER if row.ratio > 1 else LOWER,
        n=0,
        told=f"{row.measured}, predicted {row.predicted}",
        word="near" if near else "above" if row.ratio > 1 else "below",
    )
