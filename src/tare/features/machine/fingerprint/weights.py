"""Fingerprints of several platforms, and the overhead of each vs. the first."""

from __future__ import annotations

import msgspec

from tare.experiment.fingerprints.machine.document import Figure, Fingerprint, Problem


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """How long an instance takes from being asked for to the agent's hello, and to its end."""

    #: The first one of this session: what of images and caches was there already, is not known.
    cold: Figure
    #: Those after it.
    warm: Figure
    stop: Figure


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance takes on the host; None: it cannot be seen from there."""

    #: Memory of the platform's own processes, in bytes; it includes the agent where that is not
    #: visible from outside.
    around_memory_bytes: int | None
    #: CPU time a second of the measurement.
    around_cpu_share: float | None
    agent_memory_bytes: int | None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a platform as a multiple of the first platform's."""

    metric: str
    #: Above one: it costs more, whether that is more time or fewer bytes a second.
    ratio: float
    low: float | None
    high: float | None
    #: ``costs``, ``saves``: surely, by more than matters; ``same``: surely by less than that.
    verdict: str
    margin: float


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """One platform."""

    platform: str
    #: Instructions are translated, not executed: its times are no cost of the platform's.
    emulated: bool = False
    #: Why nothing of it is known, and what would mend it.
    why: str | None = None
    starting: Starting | None = None
    holding: Holding | None = None
    #: Beside the first platform; empty for it.
    costs: tuple[Cost, ...] = ()
    fingerprint: Fingerprint | None = None
    problems: tuple[Problem, ...] = ()


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What platforms weigh on a machine."""

    tare: str
    agent: str
    started: str
    seconds: float
    effort: str
    #: The first is what the others are beside.
    platforms: tuple[Weighed, ...]
