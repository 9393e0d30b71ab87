"""Makes the report of ``tare net emulate``: what was verified, and how every host was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from tare.experiment.journal import HostTokens
from tare.features.network.emulate.emulation import Emulation, HostSummary
from tare.features.network.emulate.verification import Check
from tare.render.text_plot import sparkline
from tare.results.finding import Cell, Table
from tare.results.message import Amount, Chosen, Deviation, Duration, message
from tare.results.report import Entry, Report

#: Characters of a host's tokens over time.
_WIDTH = 60


def make(emulation: Emulation, moments: Sequence[HostTokens], exit_code: int) -> Report:
    """Make the report of an emulated network.

    Parameters
    ----------
    emulation : Emulation
    moments : sequence of HostTokens
        Tokens over time.
    exit_code : int
        Of the command that ran in it.
    """
    figures = msgspec.structs.asdict(emulation.stored())
    # The command of a report is tare's.
    figures["argv"] = figures.pop("command")
    del figures["version"]
    return Report(
        command="net emulate",
        exit_code=exit_code,
        figures=figures,
        name="net emulate",
        question=message("What did each host send?"),
        entries=tuple(_entries(emulation, moments)),
        further=(hosts(emulation),),
    )


def checks(some: Sequence[Check]) -> Table:
    """Lay out what was asked and what was delivered, with the reason for what was not measured."""
    return Table.of(
        message("Verified"),
        ("host", "what", "asked", "delivered", "off", "why"),
        (
            (
                one.host,
                # A budget is verified by that of a smaller bucket, which lasts under a second.
                "test budget" if one.what == "budget" else one.what,
                Chosen(one.asked, one.unit),
                None if one.delivered is None else Amount(one.delivered, one.unit),
                None if one.error is None else Deviation(one.error, "share"),
                one.why if one.good else message("over {within}", within=Chosen(one.within)),
            )
            for one in some
        ),
    )


def hosts(emulation: Emulation) -> Table:
    """Lay out what each host sent, and what became of its bucket."""
    bucket = ("tokens left", "capacity", "depleted at", "depleted for", "times")
    rows = (
        (one.host, Amount(8 * one.sent_bytes, "bits"), one.dropped_packets, *_tokens(one))
        for one in emulation.hosts
    )
    return Table.of(message("Hosts"), ("host", "sent", "dropped", *bucket), rows)


def _tokens(host: HostSummary) -> tuple[Cell, ...]:
    if host.tokens_end_bits is None or host.capacity_bits is None:
        return (None,) * 5
    left, of = Amount(host.tokens_end_bits, "bits"), Chosen(host.capacity_bits, "bits")
    if host.first_dry_s is None:
        return left, of, message("never"), None, 0
    return (
        left,
        of,
        Amount(1e9 * host.first_dry_s, "ns"),
        Amount(1e9 * host.dry_s, "ns"),
        host.times_dry,
    )


def _entries(emulation: Emulation, moments: Sequence[HostTokens]) -> Iterator[Entry]:
    said = message(
        "{n | counted('host')} for {time}", n=len(emulation.hosts), time=Duration(emulation.seconds)
    )
    yield Entry("Answer", said, "strong")
    buckets = [host for host in emulation.hosts if host.capacity_bits]
    if len(moments) < 2 or not buckets:
        return
    yield Entry(
        "Tokens",
        message("over {time}, from none to a full bucket", time=Duration(emulation.seconds)),
        picture=tuple(_drawn(emulation, host, moments) for host in buckets),
    )


def _drawn(emulation: Emulation, host: HostSummary, moments: Sequence[HostTokens]) -> str:
    place = emulation.hosts.index(host)
    known = chain.from_iterable(one.tokens_bits[place : place + 1] for one in moments)
    kept = [bits for bits in known if bits is not None]
    return f"{host.host:>4} │{sparkline(kept, host.capacity_bits or 0, _WIDTH)}│"
