"""Pictures of a network's fingerprint: the search for a bucket, latency, sizes of writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.experiment.fingerprints.network.messages import figure_told
from tare.features.network import phrases
from tare.features.network.charts import identified
from tare.features.network.charts.write_sizes import by_write_size
from tare.networks.shaping.trace import Trace
from tare.render.charts.lines import Line
from tare.render.drawing import (
    SERIES,
    SHAPES,
    category,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import sentence
from tare.results.message import message
from tare.results.report import Figure as Chart
from tare.units import scale_for

#: Quantiles of latency that a fingerprint has.
_QUANTILES = ("p50", "p90", "p99")
_ROW = 22
_STATES = {"unpaced": "unpaced", "loaded": "loaded", "throttled": "throttled"}


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
        (words, quantile, figure)
        for state, words in _STATES.items()
        for quantile in _QUANTILES
        if (figure := found.figures.get(f"latency.{state}.{quantile}")) is not None
    ]
    if len({words for words, _, _ in some}) < 2:
        return None
    chart = _rows([(f"{words}, {quantile}", words, figure) for words, quantile, figure in some])
    parts = [
        message(phrases.FINGERPRINT_FIGURE, name=f"{words}, {quantile}", value=figure_told(figure))
        for words, quantile, figure in some
    ]
    said = sentence(message(phrases.CHART_PARTS, parts=parts))
    return Chart("latency", "Round trips of 64 bytes", chart, said)


def _rows(some: Sequence[tuple[str, str, Figure]]) -> dict[str, Any]:
    """Draw a row for each figure, with its interval, on a logarithmic axis of time."""
    names = [name for name, _, _ in some]
    groups = list(dict.fromkeys(group for _, group, _ in some))
    scale, unit = scale_for([figure.value for *_, figure in some], "ns")
    ends = [end / scale for *_, f in some for end in (f.value, *(f.ci or ())) if end > 0]
    label = label_width(names)
    x: dict[str, Any] = {
        "title": f"round trip [{unit}]",
        "scale": {"type": "log", "domain": [min(ends) / 1.2, max(ends) * 1.2], "nice": False},
        "axis": {"format": ",~r", "labelFlush": True, "labelOverlap": "greedy"},
    }
    records = [
        {
            "name": name, "group": group, "x": float(f"{figure.value / scale:.5g}"),
            "told": figure_told(figure),
            "low": figure.ci[0] / scale if figure.ci else None,
            "high": figure.ci[1] / scale if figure.ci else None,
        }
        for name, group, figure in some
    ]  # fmt: skip
    tint, shape = (category("group", groups, values, legend=None) for values in (SERIES, SHAPES))
    interval = {"x": field("low:Q", **x), "x2": field("high")}
    chart = layer(
        mark("rule", interval, where="isValid(datum.low)", strokeWidth=2.4),
        mark("point", {"x": field("x:Q", **x), "shape": shape}, filled=True, size=52, opacity=1),
        rows=records,
        channels={
            "y": field("name:N", sort=names, title=None, axis=label_axis(label)),
            "color": tint,
            "tooltip": [field("name:N"), field("told:N")],
        },
        width=panel_width(1, label + 20),
        height=_ROW * len(names),
    )
    return styled(chart, gutter=label + 20, label=label)


def writes(found: NetworkFingerprint) -> list[Chart]:
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
    return [chart for chart in drawn if chart is not None]
