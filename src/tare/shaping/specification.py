"""How what leaves a host is shaped, as it is asked for."""

from __future__ import annotations

from typing import Literal

import msgspec


class Bucket(msgspec.Struct, frozen=True, kw_only=True, tag="bucket"):
    """A token bucket: ``high_bps`` while there are tokens, then ``low_bps``.

    Rates and amounts are in bits as the interface counts them, headers included.
    """

    high_bps: int
    low_bps: int
    #: Tokens come back at this rate, always, up to the capacity.
    refill_bps: int
    capacity_bits: int
    #: With which it begins; None: full.
    initial_bits: int | None = None
    queue_bytes: int | None = None


class Rate(msgspec.Struct, frozen=True, kw_only=True, tag="rate"):
    """One rate for ever."""

    rate_bps: int
    queue_bytes: int | None = None


class Distribution(msgspec.Struct, frozen=True, kw_only=True, tag="distribution"):
    """A bandwidth drawn anew every so often, uniformly between quantiles."""

    #: Pairs of probability and rate, ascending, from the first known quantile to the last.
    quantiles_bps: tuple[tuple[float, int], ...]
    every_s: float
    seed: int | None = None
    queue_bytes: int | None = None


class Replay(msgspec.Struct, frozen=True, kw_only=True, tag="replay"):
    """What was measured, once more: rate by rate, and from the beginning again."""

    #: Pairs of seconds and rate.
    steps: tuple[tuple[float, int], ...]
    #: Where it was measured, in words.
    origin: str
    queue_bytes: int | None = None


Shaping = Bucket | Rate | Distribution | Replay | None
#: What a specification can be of, by its first word; ``none``: unshaped.
Kind = Literal["none", "bucket", "rate", "distribution", "cloud", "replay"]
