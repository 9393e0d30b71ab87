"""Courses over time, with their gaps: bandwidth, round trips, retransmissions, the total sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tare.features.network.charts.series import Series, named
from tare.networks.recording.folder import groups, sending
from tare.networks.recording.histogram import Floats
from tare.render.charts.timelines import Panel, Timeline, timelines
from tare.render.words import paragraph
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

#: Columns of the quantiles that are drawn.
_QUANTILES = {"median": 0, "99th percentile": 2}

#: Values of each interval of a series, by the name of the line.
_Lines = Mapping[str, Floats]


def bandwidth(some: Sequence[Series]) -> Figure | None:
    """Draw the bandwidth of each interval that sent for most of what it could."""
    every, said = [], []
    for one in some:
        used = np.zeros(len(one.course), dtype=bool)
        for phases in groups(one.measured):
            used |= sending(one.course, phases)
        rates = np.where(used, one.course.rate_bps, np.nan)
        every.append(rates)
        if np.isfinite(rates).any():
            low, high = (Amount(float(f(rates)), "bits/s") for f in (np.nanmin, np.nanmax))
            n = int(np.isfinite(rates).sum())
            said.append(
                named(
                    one.name,
                    message(
                        "{n | counted('interval')} carried {low} to {high}", low=low, high=high, n=n
                    ),
                )
            )
    if any(one.measured.gaps for one in some):
        said.append(message("nothing was measured in the shaded parts"))
    lines: list[_Lines] = [
        {one.course.direction: rates} for one, rates in zip(some, every, strict=True)
    ]
    axis = "payload", "bits/s"
    return _figure("bandwidth", "Bandwidth over time", axis, some, lines, said)


def round_trips(some: Sequence[Series]) -> Figure | None:
    """Draw median and 99th percentile of each interval in which data was sent, by decades."""
    lines: list[_Lines] = [
        {
            name: np.where(one.course.sends, one.course.round_trip_ns[:, column], np.nan)
            for name, column in _QUANTILES.items()
        }
        # Round trips are drawn for the first direction only.
        if one.course is next(iter(one.measured.courses.values()))
        else {}
        for one in some
    ]
    said = [
        message(
            "median and 99th percentile of the round trips of small messages, for each interval "
            "in which data was sent"
        )
    ]
    title, axis = "Round trips over time", ("round trip", "ns")
    return _figure("latency-over-time", title, axis, some, lines, said, is_logarithmic=True)


def retransmits(some: Sequence[Series]) -> Figure | None:
    """Draw the share of segments that each interval sent again; None where none was."""
    if not any(one.course.retransmits.any() for one in some):
        return None
    lines: list[_Lines] = []
    for course in (one.course for one in some):
        with np.errstate(divide="ignore", invalid="ignore"):
            made = course.acked_bytes / course.segment_bytes
            sent = np.where(np.isfinite(course.segments), course.segments, made)
            share = np.where(sent > 0, 100 * course.retransmits / sent, np.nan)
        share = np.where((course.on_s > 0) & np.isfinite(share), np.minimum(share, 100), np.nan)
        lines.append({course.direction: share})
    said = [message("share of the segments that were retransmitted, for each interval")]
    title, axis = "Retransmissions over time", ("retransmitted", "%")
    return _figure("retransmits", title, axis, some, lines, said)


def total(some: Sequence[Series]) -> Figure | None:
    """Draw how much was acknowledged until the middle of each interval.

    A bucket that is empty bends it (CLOUDNET, Figure 10).
    """
    lines: list[_Lines] = [
        {one.course.direction: np.cumsum(bits) - bits / 2}
        for one in some
        for bits in (8 * one.course.acked_bytes,)
    ]
    axis = "total payload", "bits"
    return _figure("total", "Total sent over time", axis, some, lines, totals(some))


def totals(some: Sequence[Series]) -> list[Message]:
    """Say how much was sent in all."""
    return [
        named(one.name, message("{sent} of payload in total", sent=Amount(8 * float(sent), "bits")))
        for one in some
        if len(one.course)
        for sent in (one.course.acked_bytes.sum(),)
    ]


def _figure(
    name: str,
    title: str,
    axis: tuple[str, str],
    some: Sequence[Series],
    lines: Sequence[_Lines],
    said: Sequence[Message],
    *,
    is_logarithmic: bool = False,
) -> Figure | None:
    """Draw the lines of each series, a panel for each measurement; None if there are no values.

    ``axis``: what the values are, and their unit as stored.
    """
    several = len({id(one.measured) for one in some}) > 1
    found: dict[int, list[Timeline]] = {}
    for one, values in zip(some, lines, strict=True):
        start, end = one.course.start_s, one.course.end_s
        found.setdefault(id(one.measured), []).extend(
            Timeline(name, start, end, line) for name, line in values.items()
        )
    panels = [
        Panel(
            *axis, measured.end_s, found[id(measured)], measured.name if several else "",
            measured.gaps, is_logarithmic=is_logarithmic,
        )
        for measured in {id(one.measured): one.measured for one in some}.values()
        if any(np.isfinite(line.values).any() for line in found[id(measured)])
    ]  # fmt: skip
    if not panels:
        return None
    chart, most = timelines(panels)
    if most > 1:
        said = [
            *said,
            message(
                "each point stands for up to {n | counted('interval')}: the line is their "
                "median, the band goes from their minimum to their maximum",
                n=most,
            ),
        ]
    return Figure(name, title, chart, paragraph(tuple(said)))
