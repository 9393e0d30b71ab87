"""What a check is: a question to a machine, and what it finds for which purposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import msgspec

from tare.host import phrases
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Message, message

#: What a machine can be fit for.
Purpose = Literal[
    "times", "speed", "memory", "disk", "network", "parallel", "accounting", "strangers"
]  # fmt: skip
PURPOSES: tuple[Purpose, ...] = (
    "times", "speed", "memory", "disk", "network", "parallel", "accounting", "strangers",
)  # fmt: skip

#: ``warn``: worth knowing, but nothing against measuring; ``unknown``: not visible here.
Verdict = Literal["fail", "warn", "ok", "unknown"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What one check finds on one machine."""

    #: What there is.
    value: Message
    verdict: Verdict
    #: What it is bad for, or concerns.
    purposes: tuple[Purpose, ...] = ()
    #: Why it matters.
    why: Message | None = None
    #: What to type or do to change it; None: nothing that can be done here does.
    change: Message | None = None
    #: What ``tare doctor --fix`` sets for it: value by setting.
    fix: dict[str, str] = {}
    #: How large the effect usually is.
    effect: Message | None = None


def ok(value: Message) -> Diagnosis:
    """Return that nothing is against measuring."""
    return Diagnosis(value=value, verdict="ok")


def unknown(value: Message | None = None) -> Diagnosis:
    """Return that it cannot be seen."""
    return Diagnosis(value=value or message(phrases.NOT_VISIBLE), verdict="unknown")


def fail(
    value: Message,
    *purposes: Purpose,
    why: Message,
    change: Message | None = None,
    fix: dict[str, str] | None = None,
    effect: Message | None = None,
    verdict: Verdict = "fail",
) -> Diagnosis:
    """Return what it is bad for."""
    return Diagnosis(
        value=value, verdict=verdict, purposes=purposes, why=why, change=change, fix=fix or {},
        effect=effect,
    )  # fmt: skip


#: Return what is worth knowing.
warn = partial(fail, verdict="warn")


class Check:
    """One question; units that only look are a :class:`Look`, those that can be set a ``Setting``.

    Attributes
    ----------
    description : Description
        Its source is where the size of the effect is known from.
    order : int
        Where it stands in the list.
    effect : Message
        How large the effect usually is.
    """

    description: Description
    order: int
    effect: Message

    def examine(self, view: View) -> Diagnosis:
        """Judge a machine."""
        raise NotImplementedError

    def diagnose(self, view: View) -> Diagnosis:
        """Return what it finds, with the size of the effect where there may be one."""
        try:
            found = self.examine(view)
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            # Some kernel writes its files otherwise than any that was seen: the rest goes on.
            return unknown(
                message("the kernel's files are not understood ({error})", error=str(error))
            )
        if found.verdict in ("ok", "unknown"):
            return found
        return msgspec.structs.replace(found, effect=found.effect or self.effect)


@dataclass(frozen=True, kw_only=True)
class Look(Check):
    """A check of what tare cannot set."""

    description: Description
    order: int
    effect: Message
    look: Callable[[View], Diagnosis]

    def examine(self, view: View) -> Diagnosis:
        """Judge a machine."""
        return self.look(view)
