"""A fingerprint: what a machine could do, metric by metric."""

from __future__ import annotations

import msgspec

from tare.results.message import Amount


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis of a curve or a map."""

    name: str
    unit: str


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of the machine."""

    #: Median over rounds.
    value: float
    #: Of the median, 95 %; None: too few rounds.
    ci: tuple[float, float] | None
    #: ``ns``, ``bytes``, ``B/s``, ``Hz``, or ``1`` for ratios and counts.
    unit: str
    #: Rounds.
    n: int
    #: Standard deviation over rounds, in the same unit; None: fewer than two.
    sd: float | None = None
    #: The value in clock cycles, for times; None: the frequency of a core was not measured.
    cycles: float | None = None
    #: From the hardware's specification; None: it does not tell.
    predicted: float | None = None
    #: What the prediction rests on, and why the measured value differs, where that is known.
    why: str | None = None
    #: Of each round, in order of time: what differences are judged by.
    values: tuple[float, ...] = ()

    @property
    def amount(self) -> Amount:
        """The value with its interval, as a message has it."""
        return Amount(self.value, self.unit, *(self.ci or ()))


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a curve or a map."""

    at: tuple[int, ...]
    value: float
    ci: tuple[float, float] | None
    n: int
    #: As of a figure.
    sd: float | None = None
    cycles: float | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over its axes."""

    unit: str
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What could not be measured, and why."""

    probe: str
    why: str


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine could do, one day."""

    tare: str
    #: SHA-256 of the agent.
    agent: str
    #: UTC, ISO 8601.
    started: str
    seconds: float
    #: ``brief``, ``quick`` or ``whole``.
    effort: str
    #: Stack of layers that it was measured in.
    platform: str
    metrics: dict[str, Figure]
    curves: dict[str, Curve]
    facts: dict[str, bool | int | float | str]
    problems: tuple[Problem, ...] = ()
