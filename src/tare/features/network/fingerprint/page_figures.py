"""Pictures of a network's fingerprint: the search for a bucket, latency, sizes of writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.experiment.fingerprints.network.messages import figure_told
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import SERIES, SHAPES, data, label_axis, label_width, panel_width, styled
from tare.render.words import sentence
from tare.results.message import Amount, Duration, message
from tare.results.report import Figure as Chart
from tare.units import chosen, scale_for

_GBIT = 1e9
#: Quantiles of latency that a fingerprint has.
_QUANTILES = ("p50", "p90", "p99")
_ROW = 22
_STATES = {"unpaced": "unpaced", "loaded": "loaded", "throttled": "throttled"}


def course(found: NetworkFingerprint) -> Chart | None:
    """Draw how fast it was while a bucket was looked for, with the bucket's two rates."""
    if sum(one.rate_bps is not None for one in found.course) < 2:
        return None
    rates = [one.rate_bps for one in found.course if one.rate_bps is not None]
    # From 0, so that the axis of time is even; a rest is a stretch without anything sent.
    places, speeds, before = [0.0], [(found.course[0].rate_bps or 0.0) / _GBIT], 0.0
    for one in found.course:
        if one.rate_bps is None:
            places, speeds = [*places, before], [*speeds, 0.0]
        places, speeds = [*places, one.at_s], [*speeds, (one.rate_bps or 0.0) / _GBIT]
        before = one.at_s
    last = before
    drawn = [Line("sent", places, speeds)]
    for name in ("high", "low"):
        figure = found.figures.get(f"bucket.{name}")
        if figure is not None:
            ends = figure.ci or (figure.value, figure.value)
            drawn.append(
                Line(
                    f"{name} rate", [0.0, last], [figure.value / _GBIT] * 2,
                    [ends[0] / _GBIT] * 2, [ends[1] / _GBIT] * 2,
                )
            )  # fmt: skip
    chart = lines([("", drawn)], Axis("time", "s"), Axis("on the wire, Gbit/s", "1"))
    said = message(
        "net.chart.search",
        time=Duration(last),
        low=Amount(min(rates), "bits/s"),
        high=Amount(max(rates), "bits/s"),
    )
    return Chart("course", "Bandwidth in the search for a bucket", chart.to_dict(), sentence(said))


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
    said = _values((f"{words}, {quantile}", figure) for words, quantile, figure in some)
    return Chart("latency", "Round trips of 64 bytes", chart.to_dict(), said)


def _values(some: Iterable[tuple[str, Figure]]) -> str:
    """Write figures by name, for whoever does not see them."""
    parts = [
        message("net.fingerprint.figure", name=name, value=figure_told(figure))
        for name, figure in some
    ]
    return sentence(message("net.chart.parts", parts=parts))


def _rows(some: Sequence[tuple[str, str, Figure]]) -> Any:
    """Draw a row for each figure, with its interval, on a logarithmic axis of time."""
    import altair as alt

    names = [name for name, _, _ in some]
    groups = list(dict.fromkeys(group for _, group, _ in some))
    scale, unit = scale_for([figure.value for *_, figure in some], "ns")
    ends = [end / scale for *_, f in some for end in (f.value, *(f.ci or ())) if end > 0]
    label = label_width(names)
    x: dict[str, Any] = {
        "title": f"round trip [{unit}]",
        "scale": alt.Scale(type="log", domain=[min(ends) / 1.2, max(ends) * 1.2], nice=False),
        "axis": alt.Axis(format=",~r", labelFlush=True, labelOverlap="greedy"),
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
    base = alt.Chart(data(records)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=label_axis(label)),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("told:N")],
    )
    tint = alt.Color(
        "group:N", legend=None, scale=alt.Scale(domain=groups, range=SERIES[: len(groups)])
    )
    shape = alt.Shape(
        "group:N", legend=None, scale=alt.Scale(domain=groups, range=SHAPES[: len(groups)])
    )
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.4).encode(
        x=alt.X("low:Q", **x), x2="high:Q", color=tint
    )  # fmt: skip
    points = base.mark_point(filled=True, size=52, opacity=1).encode(
        x=alt.X("x:Q", **x), shape=shape, color=tint
    )
    chart = alt.layer(intervals, points).properties(
        width=panel_width(1, label + 20), height=_ROW * len(names)
    )
    return styled(chart, gutter=label + 20, label=label)


def writes(found: NetworkFingerprint) -> list[Chart | None]:
    """Draw bandwidth and round trips over the size of writes."""
    if len(found.writes) < 2:
        return []
    sizes = [one.write_bytes for one in found.writes]
    speeds = [_scaled(one.bandwidth, _GBIT) for one in found.writes]
    fast = lines(
        [("", [_line("bandwidth", sizes, speeds)])],
        Axis("size of writes", "bytes"),
        Axis("bandwidth, Gbit/s", "1"),
    )
    said = _values((chosen(w.write_bytes, "bytes"), w.bandwidth) for w in found.writes)
    drawn: list[Chart | None] = [
        Chart("writes", "Bandwidth by the size of writes", fast.to_dict(), said)
    ]
    some = [(w.write_bytes, w.round_trip) for w in found.writes if w.round_trip is not None]
    if len(some) > 1:
        slow = lines(
            [("", [_line("round trip", [at for at, _ in some], [f for _, f in some])])],
            Axis("size of writes", "bytes"),
            Axis("round trip", "ns"),
        )
        said = _values((chosen(at, "bytes"), figure) for at, figure in some)
        drawn.append(
            Chart("write_trips", "Round trips by the size of writes", slow.to_dict(), said)
        )
    return drawn


def _scaled(figure: Figure, by: float) -> Figure:
    ci = None if figure.ci is None else (figure.ci[0] / by, figure.ci[1] / by)
    return Figure(value=figure.value / by, ci=ci, unit="1", n=figure.n)


def _line(name: str, at: Sequence[float], some: Sequence[Figure]) -> Line:
    return Line(
        name,
        at,
        [figure.value for figure in some],
        [None if figure.ci is None else figure.ci[0] for figure in some],
        [None if figure.ci is None else figure.ci[1] for figure in some],
    )
