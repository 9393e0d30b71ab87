"""The lines of a measurement's trace: what the agent told, and what the front adds to it."""

from __future__ import annotations

import msgspec

from tare.agent.record import Connected, Gap, Interval, MeasureOver, PhaseOver
from tare.decoding import Decoder, Int64

#: Of the trace and of what was asked; raised where an older tare could not read it.
VERSION = 3
#: Versions that are read; the first lacks how long threads waited for a CPU, the second round trips
#: of segments.
READ = (1, 2, VERSION)


class Stretch(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="stretch"):
    """An agent was started: times of what follows count from here."""

    version: Int64
    tare: str
    #: Both of the moment at which its time is 0; since 1970, and since the machine was booted.
    realtime_ns: Int64
    boottime_ns: Int64
    boot_id: str | None = None


class Phase(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="phase"):
    """What was asked for from here on."""

    #: Intervals name it.
    id: Int64
    duration_ns: Int64
    on_ns: Int64
    off_ns: Int64
    write_bytes: Int64


class UnreadHistogram(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram whose bins are still text: of a long trace they are read many at a time."""

    bins: msgspec.Raw
    min_ns: Int64 | None = None
    max_ns: Int64 | None = None
    sum_ns: Int64


class QuickInterval(
    Interval,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="record",
    tag="interval",
):
    """An interval with such histograms."""

    smoothed_rtt: UnreadHistogram  # type: ignore[assignment]
    segment_rtt: UnreadHistogram | None = None  # type: ignore[assignment]
    round_trips: UnreadHistogram  # type: ignore[assignment]


Line = Stretch | Phase | Connected | Interval | Gap | PhaseOver | MeasureOver
_QuickLine = Stretch | Phase | Connected | QuickInterval | Gap | PhaseOver | MeasureOver

#: Events of a running phase.
Happening = Connected | Interval | Gap | PhaseOver

_decoder = Decoder[Line](Line)
_quick = Decoder[_QuickLine](_QuickLine)
_encoder = msgspec.json.Encoder()


def decode(line: bytes) -> Line:
    """Read one line; raises :class:`DecodeError` for what is none."""
    return _decoder.decode(line)


def decode_quickly(line: bytes) -> Line:
    """Read one line as :func:`decode` does; an interval is a :class:`QuickInterval`."""
    return _quick.decode(line)


def encode(line: Line) -> bytes:
    """Write one line, with its end."""
    return _encoder.encode(line) + b"\n"


def pattern(on_ns: int, off_ns: int) -> str:
    """Name a pattern as people ask for it: ``full-speed``, ``10-30``, ``rest``."""
    if on_ns == 0:
        return "rest"
    if off_ns == 0:
        return "full-speed"
    return f"{on_ns / 1e9:g}-{off_ns / 1e9:g}"
