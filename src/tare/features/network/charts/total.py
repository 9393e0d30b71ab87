"""What was sent in all, over time: a bucket that is empty bends it (CLOUDNET, Figure 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.features.network.charts import over_time
from tare.features.network.charts.over_time import Line, Panel
from tare.features.network.charts.series import Series, named
from tare.features.network.charts.thinning import thin
from tare.results.message import Amount, Message, message
from tare.units import scale_for

TITLE = "Total sent over time"


def draw(some: Sequence[Series]) -> Any:
    """Draw how much was acknowledged until each moment."""
    found, unit = _panels(some)
    return over_time.draw(found, f"total payload [{unit}]")


def caption(some: Sequence[Series]) -> tuple[Message, ...]:
    """Say the same."""
    return tuple(
        named(one.name, message("net.chart.total", sent=Amount(8 * float(_sent(one)[-1]), "bits")))
        for one in some
        if len(one.course)
    )


def _sent(one: Series) -> Any:
    return np.cumsum(one.course.acked_bytes)


def _panels(some: Sequence[Series]) -> tuple[list[Panel], str]:
    most = max((8 * float(_sent(one)[-1]) for one in some if len(one.course)), default=0.0)
    size, unit = scale_for([most / 3], "bits")
    lines = {
        i: (Line(one.course.direction,
                 thin(one.course.end_s, one.course.end_s, 8 * _sent(one) / size,
                      one.measured.gaps)),)
        for i, one in enumerate(some)
    }  # fmt: skip
    return over_time.panels(some, lines), unit
