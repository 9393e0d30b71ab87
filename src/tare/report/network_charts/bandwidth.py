"""Bandwidth over time, with its gaps; rests have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.network.summary import groups, sending
from tare.report.network_charts import over_time
from tare.report.network_charts.over_time import Line, Panel
from tare.report.network_charts.series import Series, rate_unit
from tare.report.network_charts.thinning import thin
from tare.units import quantity

TITLE = "Bandwidth over time"


def draw(some: Sequence[Series]) -> Any:
    """Draw the bandwidth of each interval that sent for most of what it could."""
    found, unit = _panels(some)
    return over_time.draw(found, f"payload [{unit}]")


def tell(some: Sequence[Series]) -> str:
    """Tell the same in words."""
    found, _ = _panels(some)
    told = []
    for one in some:
        rates = _rates(one)
        rates = rates[np.isfinite(rates)]
        if len(rates):
            told.append(
                f"{one.name + ': f' if one.name else 'F'}rom "
                f"{quantity(float(rates.min()), 'bits/s')} to "
                f"{quantity(float(rates.max()), 'bits/s')} in {len(rates):,} intervals."
            )
    shaded = " What is shaded was not measured." if any(one.measured.gaps for one in some) else ""
    return " ".join(told) + shaded + over_time.thinning(found)


def _rates(one: Series) -> Any:
    used = np.zeros(len(one.course), dtype=bool)
    for phases in groups(one.measured):
        used |= sending(one.course, phases)
    return np.where(used, one.course.rate_bps, np.nan)


def _panels(some: Sequence[Series]) -> tuple[list[Panel], str]:
    every = [_rates(one) for one in some]
    tops = [float(np.nanmax(rates)) for rates in every if np.isfinite(rates).any()]
    size, unit = rate_unit(tops)
    lines = {
        i: (Line(one.course.direction,
                 thin(one.course.start_s, one.course.end_s, rates / size, one.measured.gaps)),)
        for i, (one, rates) in enumerate(zip(some, every, strict=True))
    }  # fmt: skip
    return over_time.panels(some, lines), unit
