"""Messages: what a command found, as ids and values that any machine can render."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Amount(msgspec.Struct, frozen=True, tag="amount"):
    """A measured value, perhaps with an interval.

    Attributes
    ----------
    value : float or None
        None: unknown.
    unit : str
        As stored: ``ns``, ``bytes``, ``bits/s``, ``share`` …, ``1`` for none.
    low, high : float or None
        Of its interval, in the same unit.
    """

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None


class Chosen(msgspec.Struct, frozen=True, tag="chosen"):
    """A value that somebody chose: a margin, a limit. It has no digits of its own.

    Of unit ``growth``, .5 is written as "1.5 ×".
    """

    value: float
    unit: str = "share"


class Ratio(msgspec.Struct, frozen=True, tag="ratio"):
    """An estimated ratio to a reference; without an interval, it is said that there is none."""

    value: float
    low: float | None = None
    high: float | None = None


class Change(msgspec.Struct, frozen=True, tag="change"):
    """A ratio that is no estimate: an end of an interval, a bound."""

    value: float


class Deviation(msgspec.Struct, frozen=True, tag="deviation"):
    """An error with its sign, perhaps with half of its interval, in the same unit."""

    value: float
    unit: str
    half: float | None = None


class Duration(msgspec.Struct, frozen=True, tag="duration"):
    """How long something lasts, or a person waits."""

    seconds: float


class Levels(msgspec.Struct, frozen=True, tag="levels"):
    """Where something holds: the levels of factors, ``{"workload": "sort", "workers": "2"}``."""

    levels: dict[str, str]


class Message(msgspec.Struct, frozen=True, tag="message"):
    """A sentence, or a part of one, as data.

    Attributes
    ----------
    id : str
        Of its template in a ``words.toml``, with dots: ``doctor.noise.loses``.
    args : dict
        What the template shows; absent values are None.
    """

    id: str
    args: dict[str, Value] = {}


Atom = (
    str
    | int
    | float
    | bool
    | None
    | Amount
    | Chosen
    | Ratio
    | Change
    | Deviation
    | Duration
    | Levels
    | Message
)
Value = Atom | Sequence[Atom]

#: A message, or a sentence that is none yet.
Said = str | Message


def each(said: Said | tuple[Said, ...] | None) -> tuple[Said, ...]:
    """Return one, several or no messages as a tuple."""
    if said is None:
        return ()
    return (said,) if isinstance(said, str | Message) else said


def message(id_: str, /, **args: Value) -> Message:
    """Make a message: ``message("doctor.noise.loses", cpu=1, lost=Amount(0.02, "share"))``."""
    # As they come back from JSON.
    return Message(id_, {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()})
