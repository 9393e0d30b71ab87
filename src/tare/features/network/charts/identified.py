"""A trace with the levels that were fitted to it, and what was left in its bucket."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tare.experiment.fingerprints.network.identified import Identification, kind_of
from tare.experiment.fingerprints.network.messages import estimates
from tare.features.network import phrases as network_phrases
from tare.networks.shaping.trace import Floats, Trace
from tare.render.charts.timelines import Level, Panel, Timeline, timelines
from tare.render.words import paragraph, text
from tare.results import phrases as results_phrases
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

_GIGA = 1e9
#: Shortest idle period that is drawn, as a share of the trace.
_SEEN = 0.01


def figure(name: str, title: str, trace: Trace, found: Identification) -> Figure | None:
    """Draw a trace with the levels that were found in it, and the tokens left below.

    None: there is nothing to be seen.
    """
    rate = Timeline("", trace.start_s, trace.end_s, trace.wire * trace.rate_bps)
    if not np.isfinite(rate.values).any():
        return None
    end = float(trace.end_s[-1] - trace.start_s[0])
    levels = [
        Level(name, *(_GIGA * value for value in (known.value, *known.ci)))
        for name, known in (("high", found.high_gbps), ("low", found.low_gbps))
        if known is not None
    ]
    panels = [
        Panel("bandwidth", "bits/s", end, [rate], "", _pauses(trace), levels, [*_fall(found)])
    ]
    if (left := tokens_left(trace, found)) is not None:
        line = Timeline("", trace.start_s, trace.end_s, left)
        panels.append(Panel("tokens left", "bits", end, [line]))
    return Figure(name, title, timelines(panels)[0], paragraph(caption(found)))


def caption(found: Identification) -> tuple[Message, ...]:
    """Say the same."""
    parts = [
        message(results_phrases.NET_FINGERPRINT_PART, name=name, value=value)
        for name, value in estimates(found)
    ]
    if found.time_to_empty_s is not None:
        time = found.time_to_empty_s.amount("ns")
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
    return [(float(a), float(b), "") for a, b in zip(ends, starts, strict=True) if b - a > least]


def _fall(found: Identification) -> Iterator[tuple[float, str]]:
    """Yield when the rate fell first, if it did."""
    if found.time_to_empty_s is not None:
        value = found.time_to_empty_s.value
        yield value, text(message("falls after {time}", time=Amount(1e9 * value, "ns")))


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
