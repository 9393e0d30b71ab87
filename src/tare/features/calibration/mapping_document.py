"""What a mapping between two machines says, as data."""

from __future__ import annotations

import msgspec

from tare.experiment.sweep.document import By, Interval

VERSION = 1


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two machines."""

    name: str
    cpu: str | None
    platform: str
    measured: str | None
    by: By
    #: Where more CPU is more speed along a straight line, and the rates at both ends.
    linear: tuple[tuple[float, float], ...]
    slowest: float
    fastest: float
    #: The quota that is fastest.
    fastest_at: float


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """What on B is as fast as so many CPUs on A."""

    cpus: float
    #: The rate there, by A's line; None: outside of A's lines.
    rate: float | None
    #: CPUs on B with the same rate, the fewest first: several where B is faster with less.
    on: tuple[Interval, ...] = ()
    #: The first for ``docker run``, and by which share its speed is off by the rounding; None
    #: where B was not given quotas.
    flag: str | None = None
    flag_error: float | None = None
    #: Why there are none.
    why: str | None = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A straight piece of the mapping: CPUs on B = intercept + slope · CPUs on A."""

    start: float
    end: float
    to_start: float
    to_end: float
    slope: float
    intercept: float


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """Which CPU on B is as fast as which on A."""

    version: int = VERSION
    #: The answer in one sentence.
    sentence: str
    workload: str
    work: str
    a: Side
    b: Side
    #: At each step of A, or where it was asked for.
    equals: tuple[Equal, ...]
    pieces: tuple[Piece, ...]
    confidence: float = 0.95
    #: What weakens it, each a sentence.
    caveats: tuple[str, ...] = ()
