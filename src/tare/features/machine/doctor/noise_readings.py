"""What the probe of the operating system's noise brought, over some seconds."""

from __future__ import annotations

import msgspec


class CpuNoise(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and for how long, one CPU did something else than what it was asked to."""

    cpu: int
    #: Share of the time.
    lost: float
    #: Of one detour, in the median and at worst.
    median_ns: float | None
    longest_ns: float | None
    #: Detours a second.
    rate_hz: float | None
    #: What comes at regular intervals: how often a second; None: nothing does.
    period_ns: float | None


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """Noise of all CPUs."""

    seconds: float
    cpus: tuple[CpuNoise, ...]
    #: Why there is none, or not of all.
    why: str | None = None
