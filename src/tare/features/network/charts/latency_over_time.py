"""Round trips of small messages over time: the median and the 99th percentile of each interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.features.network.charts import over_time
from tare.features.network.charts.over_time import Line, Panel
from tare.features.network.charts.series import Series
from tare.features.network.charts.thinning import thin
from tare.results.message import Message, message

TITLE = "Round trips over time"
#: Columns of the quantiles that are drawn.
_DRAWN = {"median": 0, "99th percentile": 2}


def draw(some: Sequence[Series]) -> Any:
    """Draw both of each interval in which data was sent, by decades."""
    return over_time.draw(_panels(some), "round trip [ms]", log=True)


def caption(some: Sequence[Series]) -> tuple[Message, ...]:
    """Say what is drawn."""
    return message("net.chart.round_trips_over_time"), *over_time.thinning(_panels(some))


def _loaded(one: Series, column: int) -> Any:
    return np.where(one.course.sends, one.course.round_trip_ns[:, column] / 1e6, np.nan)


def _panels(some: Sequence[Series]) -> list[Panel]:
    lines = {
        i: tuple(
            Line(
                name,
                thin(one.course.start_s, one.course.end_s,
                     _loaded(one, column), one.measured.gaps),
            )
            for name, column in _DRAWN.items()
        )
        for i, one in enumerate(some)
        # They are told of the first direction alone.
        if one.course is next(iter(one.measured.courses.values()))
    }  # fmt: skip
    return over_time.panels(some, lines)
