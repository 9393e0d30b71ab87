"""A trace with the levels that were fitted to it, and what was left in its bucket."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tare.experiment.fingerprints.network.identified import Identification, kind_of
from tare.experiment.fingerprints.network.messages import estimates
from tare.features.network import phrases as network_phrases
from tare.features.network.charts.over_time import (
    GUTTER,
    VALUE_AXIS,
    band_and_line,
    short,
    time_axis,
    timeline_rows,
)
from tare.features.network.charts.series import rate_unit, span_unit
from tare.features.network.charts.thinning import thin
from tare.networks.shaping.trace import Floats, Trace
from tare.render.drawing import SERIES, Chart, colour, field, layer, mark, panel_width, styled
from tare.render.words import paragraph, text
from tare.results import phrases as results_phrases
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

_HEIGHT, _TOKENS = 200, 110
_GIGA = 1e9
#: Shortest idle period that is drawn, as a share of the trace.
_SEEN = 0.01


def figure(name: str, title: str, trace: Trace, found: Identification) -> Figure | None:
    """Draw a trace with the levels that were found in it, and the tokens left below.

    None: there is nothing to be seen.
    """
    line = thin(trace.start_s, trace.end_s, trace.wire * trace.rate_bps, _pauses(trace))
    if len(line) == 0:
        return None
    size, unit = rate_unit([float(line.high.max())])
    end = float(trace.end_s[-1] - trace.start_s[0])
    x = time_axis(end)
    y = {
        "title": f"bandwidth [{unit}]",
        "axis": VALUE_AXIS,
        "scale": {"domain": [0, 1.05 * float(line.high.max()) / size]},
    }
    channels = {"x": x, "color": {"value": SERIES[0]}, "detail": field("p:N")}
    panel = layer(
        layer(
            *band_and_line([line], y),
            rows=timeline_rows({"": line}, end, size),
            channels=channels,
        ),
        *_levels(found, (x, y), end / span_unit(end)[0], size),
        *_moment(found, x, end),
        width=panel_width(1, GUTTER),
        height=_HEIGHT,
    )
    tokens = _tokens(trace, found, x)
    chart = panel if tokens is None else {"vconcat": [panel, tokens], "spacing": 18}
    return Figure(name, title, styled(chart, gutter=GUTTER), paragraph(caption(found)))


def caption(found: Identification) -> tuple[Message, ...]:
    """Say the same."""
    parts = [
        message(results_phrases.NET_FINGERPRINT_PART, name=name, value=value)
        for name, value in estimates(found)
    ]
    if found.time_to_empty_s is not None:
        value, (low, high) = found.time_to_empty_s.value, found.time_to_empty_s.ci
        time = Amount(1e9 * value, "ns", 1e9 * low, 1e9 * high)
        parts.append(message("depleted after {time}", time=time))
    if found.left_gbit is not None:
        left = Amount(_GIGA * found.left_gbit.value, "bits")
        parts.append(message("{left} left at the end", left=left))
    said = [message(network_phrases.CHART_PARTS, parts=parts)] if parts else []
    return kind_of(found), *said


def _pauses(trace: Trace) -> list[tuple[float, float, str]]:
    """Return rests and gaps that are long enough to be seen: no line goes through them."""
    busy = np.flatnonzero(trace.on_s > 0)
    ends, starts = trace.end_s[busy[:-1]], trace.start_s[busy[1:]]
    least = _SEEN * float(trace.end_s[-1] - trace.start_s[0])
    return [
        (float(a), float(b), "rest") for a, b in zip(ends, starts, strict=True) if b - a > least
    ]


def _levels(
    found: Identification, axes: tuple[dict[str, Any], dict[str, Any]], right: float, size: float
) -> list[Chart]:
    """Draw each level as a dashed line with its name, its interval as a band."""
    layers, (x, y) = [], axes
    for name, known in (("high", found.high_gbps), ("low", found.low_gbps)):
        if known is None:
            continue
        record = {"x": right, "y": _scaled(known.value, size), "told": name}
        record |= {"low": _scaled(known.ci[0], size), "high": _scaled(known.ci[1], size)}
        interval = {"y": field("low:Q", **y), "y2": field("high")}
        at = {"y": field("y:Q", **y)}
        layers.append(
            layer(
                mark("rect", interval, opacity=0.25, color=colour("mark")),
                mark("rule", at, strokeDash=[6, 4], color=colour("mark")),
                mark("text", {"x": x, **at, "text": field("told:N")}, align="right", dy=-7, dx=-3,
                     color=colour("ink")),
                rows=[record],
            )
        )  # fmt: skip
    return layers


def _moment(found: Identification, x: dict[str, Any], end_s: float) -> list[Chart]:
    """Draw when the rate fell first."""
    if found.time_to_empty_s is None:
        return []
    size, _ = span_unit(end_s)
    value = found.time_to_empty_s.value
    told = text(message("falls after {time}", time=Amount(1e9 * value, "ns")))
    align, dx = ("right", -5) if value > end_s / 2 else ("left", 5)
    words = {"y": {"value": _HEIGHT - 4}, "text": field("told:N")}
    return [
        layer(
            mark("rule", {}, strokeWidth=1.4, color=colour("ink")),
            mark("text", words, align=align, dx=dx, baseline="bottom", color=colour("ink")),
            rows=[{"x": short(value / size), "told": told}],
            channels={"x": x},
        )
    ]


def _tokens(trace: Trace, found: Identification, x: dict[str, Any]) -> Chart | None:
    """Draw what was left in the bucket."""
    left = tokens_left(trace, found)
    if left is None:
        return None
    line = thin(trace.start_s, trace.end_s, left)
    rows = timeline_rows({"": line}, float(trace.end_s[-1] - trace.start_s[0]), _GIGA)
    y = field("y:Q", title="tokens left [Gbit]", axis=VALUE_AXIS)
    channels = {"x": x, "y": y, "detail": field("p:N")}
    area = mark("area", channels, rows, opacity=0.3, color=SERIES[2], line={"color": SERIES[2]})
    return {**area, "width": panel_width(1, GUTTER), "height": _TOKENS}


def tokens_left(trace: Trace, found: Identification) -> Floats | None:
    """Follow the tokens of a bucket through its trace.

    Parameters
    ----------
    trace : Trace
    found : Identification
        What was found of this trace.

    Returns
    -------
    array, shape (intervals,), or None
        Bits at the end of each interval; None where the bucket's figures are not identified.
    """
    if found.start_gbit is None or found.budget_gbit is None or found.refill_gbps is None:
        return None
    rate, most = found.refill_gbps.value * _GIGA, found.budget_gbit.value * _GIGA
    left, at = found.start_gbit.value * _GIGA, float(trace.start_s[0])
    # Intervals of unknown size count as idle; the error lasts until the next idle period at most.
    bits = trace.wire * np.where(np.isfinite(trace.bits), trace.bits, 0.0)
    tokens = []
    for end, sent in zip(trace.end_s.tolist(), bits.tolist(), strict=True):
        left = min(most, max(0.0, left + rate * (end - at) - sent))
        at = end
        tokens.append(left if math.isfinite(left) else 0.0)
    return np.array(tokens)


def _scaled(gbps: float, size: float) -> float:
    return short(gbps * _GIGA / size)
