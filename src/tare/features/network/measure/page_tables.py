"""Sentences and tables of measured networks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tare.features.network.charts import write_sizes
from tare.features.network.charts.series import Group, rate_unit
from tare.features.network.measure.summary import PERCENTILES
from tare.networks.recording.folder import Measured
from tare.results.finding import Column, Table
from tare.results.message import Amount, Message, message
from tare.units import quantity

#: Of these many, each has its sentence.
_TOLD = 3


def carried(groups: Sequence[Group]) -> tuple[Message, ...]:
    """Say what the bandwidth is; of many sizes of writes, that of the best."""
    said = []
    for one in _outstanding(groups):
        s = one.summary
        median, low, high = (Amount(s.bandwidth_bps[p], "bits/s") for p in ("p50", "p1", "p99"))
        said.append(message("net.page.bandwidth", name=one.name, median=median, low=low, high=high))
        if s.coefficient_of_variation is not None:
            variation = Amount(s.coefficient_of_variation, "share")
            said.append(message("net.page.varies", variation=variation))
        if s.largest_change is not None:
            said.append(message("net.page.step", change=Amount(s.largest_change, "share")))
    return tuple(said) or (message("net.page.nothing"),)


def late(groups: Sequence[Group]) -> tuple[Message, ...]:
    """Say how long round trips take."""
    said = [
        message(
            "net.page.loaded",
            name=one.name,
            median=Amount(s.loaded.p50_ns, "ns"),
            p99=Amount(s.loaded.p99_ns, "ns"),
            idle=None if s.idle is None else Amount(s.idle.p50_ns, "ns"),
        )
        for one in _outstanding(groups)
        if (s := one.summary).loaded is not None
    ]
    # Why the latency of an idle network is no single number.
    if any(one.summary.idle is not None for one in groups):
        said.append(message("net.page.pacing"))
    return tuple(said) or (message("net.page.no_round_trips"),)


def _outstanding(groups: Sequence[Group]) -> list[Group]:
    if len(write_sizes.sizes(groups)) < 2:
        return list(groups[:_TOLD])
    return sorted(groups, key=lambda one: -one.summary.bandwidth_bps["p50"])[:1]


def by_size(groups: Sequence[Group]) -> tuple[Message, ...]:
    """Say what the size of writes does."""
    return write_sizes.caption(groups)


def again(groups: Sequence[Group]) -> tuple[Message, ...]:
    """Say how much was retransmitted."""
    said = tuple(
        message(
            "net.page.retransmitted",
            name=one.name,
            n=one.summary.retransmits,
            share=None
            if one.summary.retransmit_share is None
            else Amount(one.summary.retransmit_share, "share"),
        )
        for one in _outstanding(groups)
    )
    return said or (message("net.page.nothing_sent"),)


def limited(groups: Sequence[Group]) -> tuple[Message, ...]:
    """Say what the limit was."""
    said = tuple(
        message("net.named", name=one.name, said=one.summary.limit)
        for one in groups
        if one.summary.limit is not None
    )
    return said[:_TOLD] or (message("net.page.network_limit"),)


def bandwidth(groups: Sequence[Group]) -> Table:
    """Lay the bandwidths out."""
    scale, unit = rate_unit([one.summary.bandwidth_bps["p50"] for one in groups])
    rows = [
        {
            "name": one.name,
            "n": one.summary.intervals,
            **{key: value / scale for key, value in one.summary.bandwidth_bps.items()},
            "variation": _percent(one.summary.coefficient_of_variation),
            "change": _percent(one.summary.largest_change),
            "retransmits": one.summary.retransmits,
            "share": _percent(one.summary.retransmit_share),
            "sent": Amount(8 * one.summary.sent_bytes, "bits"),
        }
        for one in groups
    ]
    columns = (
        Column(key="name", title="what"),
        Column(key="n", title="intervals", unit="1"),
        *(Column(key=f"p{p}", title=f"p{p}", unit=unit) for p in PERCENTILES),
        Column(key="variation", title="CoV", unit="%"),
        Column(key="change", title="max step", unit="%"),
        Column(key="retransmits", title="retransmitted", unit="1"),
        Column(key="share", title="of all", unit="%"),
        Column(key="sent", title="sent"),
    )
    return Table(title="Bandwidth", columns=columns, rows=tuple(rows))


def latency(groups: Sequence[Group]) -> Table:
    """Lay the round trips out."""
    rows = []
    for one in groups:
        s = one.summary
        row: dict[str, Any] = {"name": one.name, "min_rtt": s.min_rtt_ns}
        row["idle"] = None if s.idle is None else s.idle.p50_ns
        for key in ("p50", "p90", "p99", "max"):
            row[key] = None if s.loaded is None else getattr(s.loaded, f"{key}_ns")
        row["smoothed"] = None if s.smoothed is None else s.smoothed.p50_ns
        row["n"] = None if s.loaded is None else s.loaded.n
        rows.append(row)
    columns = (
        Column(key="name", title="what"),
        Column(key="min_rtt", title="min RTT of the stream", unit="ns"),
        Column(key="idle", title="idle latency, median", unit="ns"),
        Column(key="p50", title="loaded latency, median", unit="ns"),
        Column(key="p90", title="p90", unit="ns"),
        Column(key="p99", title="p99", unit="ns"),
        Column(key="max", title="max", unit="ns"),
        Column(key="smoothed", title="smoothed RTT of the stream, median", unit="ns"),
        Column(key="n", title="round trips", unit="1"),
    )
    return Table(title="Round trips", columns=columns, rows=tuple(rows))


def ends_at_work(groups: Sequence[Group]) -> Table:
    """Lay out what held the ends back."""
    rows = [
        {
            "name": one.name,
            "sender": one.summary.sender_cpus,
            "receiver": one.summary.receiver_cpus,
            "busy": _percent(one.summary.busy),
            "buffer": _percent(one.summary.buffer_limited),
            "window": _percent(one.summary.receiver_limited),
            "limit": one.summary.limit,
        }
        for one in groups
    ]
    columns = (
        Column(key="name", title="what"),
        Column(key="sender", title="CPUs of the sender", unit="1"),
        Column(key="receiver", title="CPUs of the receiver", unit="1"),
        Column(key="busy", title="data in flight", unit="%"),
        Column(key="buffer", title="held by the sender's buffer", unit="%"),
        Column(key="window", title="held by the receiver's window", unit="%"),
        Column(key="limit", title="limit"),
    )
    return Table(title="Load of both ends", columns=columns, rows=tuple(rows))


def facts(some: Sequence[Measured]) -> tuple[Table, ...]:
    """Lay out what the ends said of themselves."""
    tables = []
    for one in some:
        here, there = one.facts["here"], one.facts["there"]
        names = dict.fromkeys([*here, *there])
        if names:
            title = "What the ends report"
            tables.append(
                Table.of(
                    f"{title}: {one.name}" if len(some) > 1 else title,
                    ("fact", "here", "there"),
                    ((n, here.get(n), there.get(n)) for n in names),
                )
            )
    return tuple(tables)


def strip(some: Sequence[Measured]) -> tuple[tuple[str, str], ...]:
    """Tell size and place in a few words each."""
    first = some[0]
    told = [("measured to", ", ".join(dict.fromkeys(one.asked.host for one in some)))]
    if first.begun_ns is not None:
        try:
            moment = datetime.fromtimestamp(first.begun_ns / 1e9, UTC)
            told.append(("begun", f"{moment:%Y-%m-%d %H:%M} UTC"))
        except (OverflowError, ValueError, OSError):
            # A file from elsewhere may say any number.
            told.append(("begun", "unknown"))
    told.append(("intervals", f"{sum(len(c) for one in some for c in one.courses.values()):,}"))
    told.append(("each", quantity(float(first.asked.interval_ns), "ns")))
    told.append(("streams", f"{first.asked.streams}"))
    for name, title in (("congestion", "congestion control"), ("mtu", "MTU")):
        values = dict.fromkeys(f[name] for one in some for f in [one.facts["here"]] if name in f)
        if values:
            told.append((title, ", ".join(values)))
    return tuple(told)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
