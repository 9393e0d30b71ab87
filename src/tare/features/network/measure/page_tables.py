"""Tables of measured networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.features.network.charts.series import Group
from tare.features.network.measure.summary import PERCENTILES
from tare.networks.recording.folder import Measured
from tare.results.finding import Column, Table
from tare.results.message import Amount, message


def bandwidth(groups: Sequence[Group]) -> Table:
    """Lay the bandwidths out."""
    heads: list[str | Column] = [
        "what",
        Column(key="n", title="intervals", unit="1"),
        "sent",
        *(Column(key=f"p{p}", title=f"p{p}", unit="bits/s") for p in PERCENTILES),
        Column(key="retransmits", title="retransmitted", unit="1"),
        Column(key="share", title="of all", unit="%"),
        Column(key="change", title="max step", unit="%"),
        # What stands last is left out last where a terminal is narrow.
        Column(key="variation", title="CoV", unit="%"),
    ]
    rows = (
        (one.name, s.intervals, Amount(8 * s.sent_bytes, "bits"), *s.bandwidth_bps.values(),
         s.retransmits, _percent(s.retransmit_share), _percent(s.largest_change),
         _percent(s.coefficient_of_variation))
        for one in groups
        for s in (one.summary,)
    )  # fmt: skip
    return Table.of(message("Bandwidth"), heads, rows, id="network_bandwidth")


def latency(groups: Sequence[Group]) -> Table:
    """Lay the round trips out."""
    heads: list[str | Column] = [
        "what",
        Column(key="min_rtt", title="min RTT", unit="ns"),
        Column(key="idle", title="idle, median", unit="ns"),
        Column(key="p50", title="loaded, median", unit="ns"),
        *(Column(key=key, title=key, unit="ns") for key in ("p90", "p99", "max")),
        Column(key="smoothed", title="smoothed RTT, median", unit="ns"),
        *(
            Column(key=f"segment_{q}", title=f"segment RTT, {q}", unit="ns")
            for q in ("p50", "p90", "p99")
        ),
        Column(key="n", title="round trips", unit="1"),
        Column(key="segments", title="segments", unit="1"),
    ]
    rows = []
    for one in groups:
        s, loaded = one.summary, one.summary.loaded
        rows.append(
            (
                one.name,
                s.min_rtt_ns,
                s.idle and s.idle.p50_ns,
                *(loaded and getattr(loaded, f"{q}_ns") for q in ("p50", "p90", "p99", "max")),
                s.smoothed and s.smoothed.p50_ns,
                *(
                    s.segment_rtt and getattr(s.segment_rtt, f"{q}_ns")
                    for q in ("p50", "p90", "p99")
                ),
                loaded and loaded.n,
                s.segment_rtt and s.segment_rtt.n,
            )
        )
    return Table.of(message("Round trips"), heads, rows, id="network_latency")


def ends_at_work(groups: Sequence[Group]) -> Table:
    """Lay out what held the ends back."""
    heads: list[str | Column] = [
        "what",
        Column(key="sender", title="CPUs of the sender", unit="1"),
        Column(key="receiver", title="CPUs of the receiver", unit="1"),
        Column(key="busy", title="data in flight", unit="%"),
        Column(key="buffer", title="held by the sender's buffer", unit="%"),
        Column(key="window", title="held by the receiver's window", unit="%"),
        "limit",
    ]
    rows = (
        (one.name, s.sender_cpus, s.receiver_cpus, _percent(s.busy), _percent(s.buffer_limited),
         _percent(s.receiver_limited), s.limit and s.limit.said)
        for one in groups
        for s in (one.summary,)
    )  # fmt: skip
    return Table.of(message("Load of both ends"), heads, rows)


def facts(some: Sequence[Measured]) -> tuple[Table, ...]:
    """Lay out what the ends said of themselves."""
    title, several = "What the ends report", len(some) > 1
    tables = (
        ends_table(
            f"{title}: {one.name}" if several else title, one.facts["here"], one.facts["there"]
        )
        for one in some
    )
    return tuple(table for table in tables if table.rows)


def ends_table(title: str, here: Mapping[str, str], there: Mapping[str, str]) -> Table:
    """Lay out the facts of both ends, by their names."""
    rows = ((name, here.get(name), there.get(name)) for name in dict.fromkeys([*here, *there]))
    return Table.of(title, ("fact", "here", "there"), rows)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
