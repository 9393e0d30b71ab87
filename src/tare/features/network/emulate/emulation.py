"""What was emulated, and what became of it: the document of ``tare net emulate --json``."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.agent import record
from tare.features.network.emulate.verification import Check
from tare.networks.shaping.messages import describe, specification
from tare.networks.shaping.specification import Shaping
from tare.render.words import text
from tare.results.message import Said


class HostSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One host, from the start of the command to its end."""

    #: From 1.
    host: int
    #: None: an interface that was there.
    address: str | None
    interface: str
    #: As it can be asked for again, and in words.
    specification: str
    asked: str
    sent_bytes: int
    dropped_packets: int
    #: None: no bucket.
    capacity_bits: int | None = None
    tokens_start_bits: int | None = None
    tokens_end_bits: int | None = None
    times_dry: int = 0
    dry_s: float = 0.0
    #: Since the start; None: it never was.
    first_dry_s: float | None = None
    exit_code: int | None = None


class Emulation(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    version: int = 1
    #: Empty: none.
    command: tuple[str, ...]
    #: UTC, ISO 8601.
    started: str
    seconds: float
    hosts: tuple[HostSummary, ...]
    #: Empty: not verified, ``unverified`` says why.
    checks: tuple[Check, ...]
    #: As stored, text.
    unverified: Said | None = None

    def stored(self) -> Emulation:
        """Return it as documents have it: with text."""
        return msgspec.structs.replace(
            self,
            checks=tuple(one.stored() for one in self.checks),
            unverified=None if self.unverified is None else text(self.unverified),
        )


def summaries(
    built: Sequence[record.BuiltHost],
    shapes: Sequence[Shaping],
    before: record.HostStates,
    after: record.HostStates,
    began_ns: int,
    codes: dict[int, int],
) -> tuple[HostSummary, ...]:
    """Put together what became of each host.

    Parameters
    ----------
    built, shapes : sequence
        Of every host, host 1 first.
    before, after : HostStates
        At the start of the command and at its end.
    began_ns : int
        CLOCK_MONOTONIC at the start.
    codes : dict
        Exit codes by host, of those on which the command ran.
    """
    first = {state.host: state for state in before.hosts}
    last = {state.host: state for state in after.hosts}
    found = []
    for host, shaping in zip(built, shapes, strict=True):
        # One that failed is told of no more.
        start, end = first.get(host.host), last.get(host.host)
        if start is None or end is None:
            continue
        dry_ns = end.first_dry_ns
        found.append(
            HostSummary(
                host=host.host,
                address=host.address,
                interface=host.interface,
                specification=specification(shaping),
                asked=text(describe(shaping)),
                sent_bytes=end.sent_bytes - start.sent_bytes,
                dropped_packets=end.dropped_packets - start.dropped_packets,
                capacity_bits=getattr(shaping, "capacity_bits", None),
                tokens_start_bits=start.tokens_bits,
                tokens_end_bits=end.tokens_bits,
                times_dry=end.times_dry,
                dry_s=end.dry_ns / 1e9,
                first_dry_s=None if dry_ns is None else max(0, dry_ns - began_ns) / 1e9,
                exit_code=codes.get(host.host),
            )
        )
    return tuple(found)
