"""What a fingerprint of a network holds: the file of ``tare net fingerprint --json``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tare.experiment.fingerprints.network.identified import Identification
from tare.results.message import Amount

#: Version of the file; one of another version is refused.
VERSION = 2
KIND = "network"

_Text = Annotated[str, msgspec.Meta(max_length=400)]
_Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9_.]{1,60}\Z")]
_Date = Annotated[str, msgspec.Meta(pattern=r"\A\d{4}-\d\d-\d\d[T ][0-9:.+Z-]{4,32}\Z")]
#: Of any unit, what a network has; more is no measurement.
_Value = Annotated[float, msgspec.Meta(ge=0, le=1e24)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Facts = Annotated[dict[_Text, _Text], msgspec.Meta(max_length=200)]

Unit = Literal["ns", "bits/s", "bits", "1"]


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of the network."""

    value: _Value
    #: 95 %; None: too few parts for an interval, or the most extreme of all.
    ci: tuple[_Value, _Value] | None
    unit: Unit
    #: Parts of the time that the interval rests on.
    n: _Count

    @property
    def amount(self) -> Amount:
        """The value with its interval, as a message has it."""
        return Amount(self.value, self.unit, *(self.ci or ()))


class Write(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the network did with writes of one size."""

    write_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 30)]
    bandwidth: Figure
    #: Median of the kernel's smoothed round trips while it was sent; None: not told.
    round_trip: Figure | None
    #: Of the segments, those sent again; None: segments were not told.
    retransmitted: Figure | None
    #: Whether the bucket held less than they needed, so that part of them met an empty one.
    throttled: bool = False


class Searched(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a bucket was looked for: that there is none beyond is not known."""

    #: At full speed in one go, before anything that looks like an empty bucket; on the wire.
    bits: _Value
    seconds: _Value
    #: Why it ended, a sentence.
    ended: _Text


class Moment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the time in which a bucket was looked for."""

    #: Its end, since the search began.
    at_s: _Value
    #: On the wire; None: it rested.
    rate_bps: _Value | None


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What could not be measured, and why."""

    what: _Text
    why: _Text


class Starved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase in which an end had no CPU, so that some figures may not be the network's."""

    #: Names of the figures, as they are or as they begin; ``shaping``: what shapes the network.
    figures: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=16)]
    #: None: round trips waited, at whichever end.
    end: Literal["sender", "receiver"] | None
    #: Share of the time for which a thread of that end waited for a CPU; of round trips, share of
    #: their own time.
    waited: _Share
    #: Share of the intervals whose rate says nothing of the network for it; None: of round trips.
    intervals: _Share | None
    #: How often it was measured; what was disturbed least is what was kept.
    tries: Annotated[int, msgspec.Meta(ge=1, le=100)]


class NetworkFingerprint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a network did between two ends, one day."""

    version: int = VERSION
    kind: Literal["network"] = "network"
    tare: _Text
    #: SHA-256 of the agent.
    agent: _Text
    #: UTC, ISO 8601.
    started: _Date
    seconds: _Value
    effort: Literal["brief", "full"]
    #: The other end, as it was typed.
    end: _Text
    direction: Literal["out", "in"]
    streams: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
    #: Figures on the wire, by name: ``latency.unpaced.p50``, ``bandwidth.fresh``, ``bucket.high``,
    #: …
    figures: Annotated[dict[_Name, Figure], msgspec.Meta(max_length=200)]
    #: Results of writes of each size, in ascending order of size.
    writes: Annotated[tuple[Write, ...], msgspec.Meta(max_length=64)]
    #: Identified traffic shaping; None: it was not searched for.
    shaping: Identification | None
    searched: Searched | None
    #: How the search went, in a few hundred parts.
    course: Annotated[tuple[Moment, ...], msgspec.Meta(max_length=1000)] = ()
    #: What both ends say of themselves.
    here: _Facts
    there: _Facts
    starved: Annotated[tuple[Starved, ...], msgspec.Meta(max_length=200)] = ()
    problems: Annotated[tuple[Problem, ...], msgspec.Meta(max_length=100)] = ()
    #: Bits on the wire, all that it cost.
    spent_bits: _Value = 0.0
