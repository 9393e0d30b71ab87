"""Messages: what a command found, as templates and values that keep their types."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal, Self

import msgspec

#: Bounds that values above a limit leave open.
Open = Literal["low", "high", "both"]


def open_bounds(low: float | None, high: float | None) -> Open | None:
    """Say which bounds of a ratio are open: a lower one of 0, an infinite upper one; None: none."""
    is_open = low == 0, high == math.inf
    return "both" if all(is_open) else "low" if is_open[0] else "high" if is_open[1] else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


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
    above : float
        Limit that a value of None, and an upper bound of None where there is a lower one, are above
        of. Unset: both are known, or unknown for another reason.
    """

    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    above: float | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(
        cls,
        value: float,
        unit: str,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
    ) -> Self:
        """Return an amount whose infinite parts are above a limit."""
        is_open = math.isinf(value) or (high is not None and math.isinf(high))
        if not is_open or above is None:
            return cls(value, unit, low, high)
        return cls(_finite(value), unit, low, _finite(high), above)


class Chosen(msgspec.Struct, frozen=True, tag="chosen"):
    """A value that somebody chose: a margin, a limit. It has no digits of its own.

    Of unit ``growth``, .5 is written as "1.5 ×".
    """

    value: float
    unit: str = "share"


class Ratio(msgspec.Struct, frozen=True, tag="ratio"):
    """An estimated ratio to a reference; without an interval, it is said that there is none.

    Attributes
    ----------
    value : float or None
        None: not known, since values are above a limit.
    low, high : float or None
        Bounds; None without an interval, and where they are open.
    open : {"low", "high", "both"}
        Bounds that values above a limit leave open. Unset: none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    open: Open | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, value: float, low: float | None, high: float | None) -> Self:
        """Return a ratio whose lower bound of 0 and upper bound of infinity are open."""
        is_open = open_bounds(low, high)
        if is_open is None:
            return cls(_finite(value), low, high)
        return cls(_finite(value), low or None, _finite(high), is_open)

    @property
    def parts(self) -> tuple[float, float | None, float | None]:
        """Value and bounds as numbers: NaN where it is not known, open bounds 0 and infinite."""
        value = math.nan if self.value is None else self.value
        low = 0.0 if self.open in ("low", "both") else self.low
        return value, low, math.inf if self.open in ("high", "both") else self.high


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


class Template(str):
    """A literal template of tare's own source.

    msgspec neither writes nor reads this type, so that no file can bring a template to be rendered.
    """

    __slots__ = ()


class Message(msgspec.Struct, frozen=True, tag="message"):
    """A sentence, or a part of one, as data.

    Attributes
    ----------
    template : Template
        What Jinja renders, with ``{name}`` for a value. Empty in a message that was read from a
        saved report.
    args : dict
        Values that the template shows; absent values are None.
    text : str
        What a saved report has in place of the template; empty elsewhere.
    """

    template: Template = Template("")
    args: dict[str, Value] = {}
    text: str = ""

    @property
    def wording(self) -> Hashable:
        """What it has in common with messages that differ from it in their values only."""
        return self.template, *(v.wording for v in self.args.values() if isinstance(v, Message))


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


def message(template: str, /, **args: Value) -> Message:
    """Make a message: ``message("CPU {cpu} loses {lost}", cpu=1, lost=Amount(0.02, "share"))``."""
    # As they come back from JSON.
    lists = {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()}
    return Message(Template(template), lists)
