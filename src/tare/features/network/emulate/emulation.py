"""What was emulated, and what became of it: the document of ``tare net emulate --json``."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.agent import record
from tare.experiment.journal import HostUse
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
    uses: Sequence[HostUse],
    codes: dict[int, int],
) -> tuple[HostSummary, ...]:
    """Put together what became of each host.

    Parameters
    ----------
    built, shapes : sequence
        Of every host, host 1 first.
    uses : sequence of HostUse
        Of every host that did not fail.
    codes : dict
        Exit codes by host, of those on which the command ran.
    """
    known = {use.host: use for use in uses}
    return tuple(
        HostSummary(
            host=host.host,
            address=host.address,
            interface=host.interface,
            specification=specification(shaping),
            asked=text(describe(shaping)),
            sent_bytes=use.sent_bytes,
            dropped_packets=use.dropped_packets,
            capacity_bits=getattr(shaping, "capacity_bits", None),
            tokens_start_bits=use.tokens_start_bits,
            tokens_end_bits=use.tokens_end_bits,
            times_dry=use.times_dry,
            dry_s=use.dry_ns / 1e9,
            first_dry_s=None if use.first_dry_ns is None else use.first_dry_ns / 1e9,
            exit_code=codes.get(host.host),
        )
        for host, shaping in zip(built, shapes, strict=True)
        if (use := known.get(host.host)) is not None
    )
