"""Segments that were sent again, as a share of all, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.features.network.charts import over_time
from tare.features.network.charts.over_time import Line, Panel
from tare.features.network.charts.series import Series
from tare.features.network.charts.thinning import thin
from tare.results.message import Message, message

TITLE = "Retransmissions over time"


def draw(some: Sequence[Series]) -> Any:
    """Draw the share of each interval; None where nothing was sent again."""
    if not any(one.course.retransmits.any() for one in some):
        return None
    return over_time.draw(_panels(some), "retransmitted [%]")


def caption(some: Sequence[Series]) -> tuple[Message, ...]:
    """Say what is drawn."""
    return message("net.chart.retransmitted"), *over_time.thinning(_panels(some))


def _panels(some: Sequence[Series]) -> list[Panel]:
    lines = {}
    for i, one in enumerate(some):
        course = one.course
        with np.errstate(divide="ignore", invalid="ignore"):
            made = course.acked_bytes / course.segment_bytes
            sent = np.where(np.isfinite(course.segments), course.segments, made)
            share = np.where(sent > 0, 100 * course.retransmits / sent, np.nan)
        share = np.where((course.on_s > 0) & np.isfinite(share), np.minimum(share, 100), np.nan)
        thinned = thin(course.start_s, course.end_s, share, one.measured.gaps)
        lines[i] = (Line(course.direction, thinned),)
    return over_time.panels(some, lines)
