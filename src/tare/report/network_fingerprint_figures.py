"""Pictures of a network's fingerprint: the search for a bucket, latency, sizes of writes."""

from __future__ import annotations

from collections.abc import Sequence

from tare.network_fingerprint.document import Figure, NetworkFingerprint
from tare.network_fingerprint.telling import figure_told, size_told, value_told
from tare.report.machine_charts import Axis, Line, lines
from tare.report.page import Figure as Chart

_GBIT = 1e9
#: Quantiles of latency that a fingerprint has, by the words of their names.
_QUANTILES = {"p50": 50, "p90": 90, "p99": 99}
_STATES = {"idle": "idle", "loaded": "under load", "throttled": "throttled"}


def course(found: NetworkFingerprint) -> Chart | None:
    """Draw how fast it was while a bucket was looked for, with the bucket's two rates."""
    sent = [(one.at_s, one.rate_bps) for one in found.course if one.rate_bps is not None]
    if len(sent) < 2:
        return None
    first, last = found.course[0].at_s, found.course[-1].at_s
    drawn = [Line("sent", [at for at, _ in sent], [rate / _GBIT for _, rate in sent])]
    for name in ("high", "low"):
        figure = found.figures.get(f"bucket.{name}")
        if figure is not None:
            ends = figure.ci or (figure.value, figure.value)
            drawn.append(
                Line(
                    f"{name} rate", [first, last], [figure.value / _GBIT] * 2,
                    [ends[0] / _GBIT] * 2, [ends[1] / _GBIT] * 2,
                )
            )  # fmt: skip
    chart = lines([("", drawn)], Axis("time", "s"), Axis("on the wire, Gbit/s", "1"))
    rates = [rate for _, rate in sent]
    told = (
        f"Over {last:.3g} s, from {value_told(min(rates), 'bits/s')} to "
        f"{value_told(max(rates), 'bits/s')} while data was sent."
    )
    return Chart("course", "How fast it was while a bucket was looked for", chart.to_dict(), told)


def latency(found: NetworkFingerprint) -> Chart | None:
    """Draw quantiles of round trips: idle, under load, throttled."""
    drawn, told = [], []
    for state, words in _STATES.items():
        some = [
            (at, figure)
            for name, at in _QUANTILES.items()
            if (figure := found.figures.get(f"latency.{state}.{name}")) is not None
        ]
        if some:
            drawn.append(_line(words, [at for at, _ in some], [figure for _, figure in some]))
            told += [f"{words}, p{at}: {figure_told(figure)}" for at, figure in some]
    if len(drawn) < 2:
        return None
    chart = lines([("", drawn)], Axis("percentile", "1"), Axis("round trip", "ns"))
    return Chart("latency", "Round trips of 64 bytes", chart.to_dict(), f"{'; '.join(told)}.")


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
    told = "; ".join(
        f"{size_told(w.write_bytes)}: {figure_told(w.bandwidth)}" for w in found.writes
    )
    drawn: list[Chart | None] = [
        Chart("writes", "Bandwidth by the size of writes", fast.to_dict(), f"{told}.")
    ]
    some = [(w.write_bytes, w.round_trip) for w in found.writes if w.round_trip is not None]
    if len(some) > 1:
        slow = lines(
            [("", [_line("round trip", [at for at, _ in some], [f for _, f in some])])],
            Axis("size of writes", "bytes"),
            Axis("round trip", "ns"),
        )
        told = "; ".join(f"{size_told(at)}: {figure_told(f)}" for at, f in some)
        drawn.append(
            Chart("write_trips", "Round trips by the size of writes", slow.to_dict(), f"{told}.")
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
