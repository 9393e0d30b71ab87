"""Pictures of a network's fingerprint: the search for a bucket, latency, sizes of writes."""

from __future__ import annotations

import numpy as np

from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.experiment.fingerprints.network.messages import figure_told
from tare.features.network import phrases
from tare.features.network.charts import identified
from tare.features.network.charts.write_sizes import by_write_size
from tare.networks.shaping.trace import Trace
from tare.render.charts.intervals import interval_rows
from tare.render.charts.lines import Line
from tare.render.words import sentence
from tare.results.message import message
from tare.results.report import Figure as Chart
from tare.units import scale_for

#: Quantiles of latency that a fingerprint has.
_QUANTILES = ("p50", "p90", "p99")
_STATES = ("unpaced", "loaded", "throttled")


def course(found: NetworkFingerprint) -> Chart | None:
    """Draw how fast it was while a bucket was looked for, with the bucket's two rates."""
    if found.shaping is None or not found.course:
        return None
    end = np.array([one.at_s for one in found.course])
    start = np.append(0.0, end[:-1])
    sends = np.array([one.rate_bps is not None for one in found.course])
    rates = np.array([one.rate_bps or 0.0 for one in found.course])
    trace = Trace(start, end, rates * (end - start), np.where(sends, end - start, 0.0))
    title = "Bandwidth in the search for a bucket"
    return identified.figure("course", title, trace, found.shaping)


def latency(found: NetworkFingerprint) -> Chart | None:
    """Draw quantiles of round trips: unpaced, loaded, throttled."""
    some = [
        (state, quantile, figure)
        for state in _STATES
        for quantile in _QUANTILES
        if (figure := found.figures.get(f"latency.{state}.{quantile}")) is not None
    ]
    states = [state for state, _, _ in some]
    if len(set(states)) < 2:
        return None
    names = [f"{state}, {quantile}" for state, quantile, _ in some]
    scale, unit = scale_for([figure.value for *_, figure in some], "ns")
    values = [figure.value / scale for *_, figure in some]
    lows, highs = (
        [None if figure.ci is None else figure.ci[end] / scale for *_, figure in some]
        for end in (0, 1)
    )
    axis = f"round trip [{unit}]"
    chart = interval_rows(names, values, lows, highs, states=states, unit=axis, logarithmic=True)
    parts = [
        message(phrases.FINGERPRINT_FIGURE, name=name, value=figure_told(figure))
        for name, (*_, figure) in zip(names, some, strict=True)
    ]
    said = sentence(message(phrases.CHART_PARTS, parts=parts))
    return Chart("latency", "Round trips of 64 bytes", chart, said)


def writes(found: NetworkFingerprint) -> list[Chart | None]:
    """Draw bandwidth and round trips over the size of writes."""
    drawn = []
    for name, title, unit, some in (
        ("writes", "Bandwidth", "bits/s", [(w.write_bytes, w.bandwidth) for w in found.writes]),
        ("write_trips", "Round trips", "ns",
         [(w.write_bytes, w.round_trip) for w in found.writes if w.round_trip is not None]),
    ):  # fmt: skip
        line = Line(
            title,
            [at for at, _ in some],
            [figure.value for _, figure in some],
            [None if figure.ci is None else figure.ci[0] for _, figure in some],
            [None if figure.ci is None else figure.ci[1] for _, figure in some],
        )
        drawn.append(by_write_size(name, title, unit, [line]))
    return drawn
