"""A trace with the levels that were fitted to it, and what was left in its bucket."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tare.experiment.fingerprints.network.identified import Identification, kind_of
from tare.experiment.fingerprints.network.messages import estimates
from tare.features.network.charts.over_time import (
    GUTTER,
    Named,
    band_and_line,
    course,
    short,
    time_axis,
    value_axis,
)
from tare.features.network.charts.series import rate_unit, span_unit
from tare.features.network.charts.thinning import thin
from tare.networks.shaping.trace import Floats, Trace
from tare.render.drawing import SERIES, colour, data, panel_width, styled
from tare.render.words import paragraph, text
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

_HEIGHT, _TOKENS = 200, 110
_GIGA = 1e9
#: Share of the trace from which on a rest can be seen.
_SEEN = 0.01


def figure(name: str, title: str, trace: Trace, found: Identification) -> Figure | None:
    """Draw a trace with the levels that were found in it, and the tokens left below.

    None: there is nothing to be seen.
    """
    import altair as alt

    line = thin(trace.start_s, trace.end_s, trace.wire * trace.rate_bps, _pauses(trace))
    if len(line) == 0:
        return None
    size, unit = rate_unit([float(line.high.max())])
    named = Named()
    end = float(trace.end_s[-1] - trace.start_s[0])
    x = time_axis(end)
    y = {
        "title": f"bandwidth [{unit}]",
        "axis": value_axis(),
        "scale": alt.Scale(domain=[0, 1.05 * float(line.high.max()) / size]),
    }
    base = course({"": line}, end, named, size).encode(x=x, color=alt.ColorValue(SERIES[0]))
    levels = _levels(found, (x, y), end / span_unit(end)[0], size)
    layers = [*band_and_line(base, [line], y), *levels, *_moment(found, x, end)]
    panel = alt.layer(*layers).properties(width=panel_width(1, GUTTER), height=_HEIGHT)
    tokens = _tokens(trace, found, named, x)
    chart = panel if tokens is None else alt.vconcat(panel, tokens, spacing=18)
    spec = named.spec(styled(chart, gutter=GUTTER))
    return Figure(name, title, spec, paragraph(caption(found)))


def caption(found: Identification) -> tuple[Message, ...]:
    """Say the same."""
    parts = [
        message("net.fingerprint.part", name=name, value=value) for name, value in estimates(found)
    ]
    if found.time_to_empty_s is not None:
        value, (low, high) = found.time_to_empty_s.value, found.time_to_empty_s.ci
        time = Amount(1e9 * value, "ns", 1e9 * low, 1e9 * high)
        parts.append(message("net.chart.depleted_after", time=time))
    if found.left_gbit is not None:
        left = Amount(_GIGA * found.left_gbit.value, "bits")
        parts.append(message("net.chart.left", left=left))
    said = [message("net.chart.parts", parts=parts)] if parts else []
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
    found: Identification, axes: tuple[Any, dict[str, Any]], right: float, size: float
) -> list[Any]:
    """Draw each level as a dashed line with its name, its interval as a band."""
    import altair as alt

    layers = []
    for name, known in (("high", found.high_gbps), ("low", found.low_gbps)):
        if known is None:
            continue
        record = {"x": right, "y": _scaled(known.value, size), "told": name}
        record |= {"low": _scaled(known.ci[0], size), "high": _scaled(known.ci[1], size)}
        base = alt.Chart(data([record]))
        layers += [
            base.mark_rect(opacity=0.25, color=colour("mark")).encode(
                y=alt.Y("low:Q", **axes[1]), y2=alt.Y2("high:Q")
            ),
            base.mark_rule(strokeDash=[6, 4], color=colour("mark")).encode(
                y=alt.Y("y:Q", **axes[1])
            ),
            base.mark_text(align="right", dy=-7, dx=-3, color=colour("ink")).encode(
                x=axes[0], y=alt.Y("y:Q", **axes[1]), text=alt.Text("told:N")
            ),
        ]
    return layers


def _moment(found: Identification, x: Any, end_s: float) -> list[Any]:
    """Draw when the rate fell first."""
    import altair as alt

    if found.time_to_empty_s is None:
        return []
    size, _ = span_unit(end_s)
    value = found.time_to_empty_s.value
    told = text(message("net.chart.falls", time=Amount(1e9 * value, "ns")))
    base = alt.Chart(data([{"x": short(value / size), "told": told}])).encode(x=x)
    late = value > end_s / 2
    words = base.mark_text(
        align="right" if late else "left",
        dx=-5 if late else 5,
        baseline="bottom",
        color=colour("ink"),
    )
    return [
        base.mark_rule(strokeWidth=1.4, color=colour("ink")),
        words.encode(y=alt.YValue(_HEIGHT - 4), text=alt.Text("told:N")),
    ]


def _tokens(trace: Trace, found: Identification, named: Named, x: Any) -> Any:
    """Draw what was left in the bucket."""
    import altair as alt

    left = tokens_left(trace, found)
    if left is None:
        return None
    line = thin(trace.start_s, trace.end_s, left)
    base = course({"": line}, float(trace.end_s[-1] - trace.start_s[0]), named, _GIGA).encode(x=x)
    y = alt.Y("y:Q", title="tokens left [Gbit]", axis=value_axis())
    area = base.mark_area(opacity=0.3, color=SERIES[2], line={"color": SERIES[2]}).encode(y=y)
    return area.properties(width=panel_width(1, GUTTER), height=_TOKENS)


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
    # What is not known was not sent, at worst for the next rest.
    bits = trace.wire * np.where(np.isfinite(trace.bits), trace.bits, 0.0)
    tokens = []
    for end, sent in zip(trace.end_s.tolist(), bits.tolist(), strict=True):
        left = min(most, max(0.0, left + rate * (end - at) - sent))
        at = end
        tokens.append(left if math.isfinite(left) else 0.0)
    return np.array(tokens)


def _scaled(gbps: float, size: float) -> float:
    return short(gbps * _GIGA / size)
