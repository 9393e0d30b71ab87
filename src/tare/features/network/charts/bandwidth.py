"""Bandwidth over time, with its gaps; rests have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.features.network.charts import over_time
from tare.features.network.charts.over_time import Line, Panel
from tare.features.network.charts.series import Series, named, rate_unit
from tare.features.network.charts.thinning import thin
from tare.features.network.measure.summary import groups, sending
from tare.results.message import Amount, Message, message

TITLE = "Bandwidth over time"


def draw(some: Sequence[Series]) -> Any:
    """Draw the bandwidth of each interval that sent for most of what it could."""
    found, unit = _panels(some)
    return over_time.draw(found, f"payload [{unit}]")


def caption(some: Sequence[Series]) -> tuple[Message, ...]:
    """Say the same."""
    found, _ = _panels(some)
    said = []
    for one in some:
        rates = _rates(one)
        rates = rates[np.isfinite(rates)]
        if len(rates):
            low, high = (Amount(float(end), "bits/s") for end in (rates.min(), rates.max()))
            rate = message("net.chart.rates", low=low, high=high, n=len(rates))
            said.append(named(one.name, rate))
    if any(one.measured.gaps for one in some):
        said.append(message("net.chart.gaps"))
    return *said, *over_time.thinning(found)


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
