"""What a check says: a value, whether it is good and for what, and what would change it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

#: What a machine can be fit for.
Purpose = Literal[
    "times", "speed", "memory", "disk", "network", "parallel", "accounting", "strangers"
]  # fmt: skip

#: What the words mean.
PURPOSES: dict[Purpose, str] = {
    "times": "wall times of milliseconds",
    "speed": "comparing CPU speeds",
    "memory": "memory latency and bandwidth",
    "disk": "disk times",
    "network": "network latency",
    "parallel": "several workers side by side",
    "accounting": "CPU time and memory of process trees",
    "strangers": "running strangers' programs",
}

#: ``note``: worth knowing, but nothing speaks against measuring; ``hidden``: not visible here.
Judgement = Literal["good", "note", "bad", "hidden"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What one check says of one machine."""

    #: In words, short.
    value: str
    judgement: Judgement
    #: What it is bad for, or noteworthy for.
    purposes: tuple[Purpose, ...] = ()
    #: Why it is not good, in half a sentence.
    why: str | None = None
    #: The line that changes it; None: nothing that can be typed here does.
    change: str | None = None
    #: What ``tare doctor --fix`` sets for it: value by setting.
    fix: dict[str, str] = {}
    #: How large the effect usually is.
    effect: str | None = None
    #: Where that is known from.
    source: str | None = None
    #: What was read, for programs.
    data: dict[str, Any] = {}


def good(value: str, **data: Any) -> Diagnosis:
    """Say that nothing speaks against it."""
    return Diagnosis(value=value, judgement="good", data=data)


def hidden(value: str = "not visible here", **data: Any) -> Diagnosis:
    """Say that it cannot be seen, which is neither good nor bad."""
    return Diagnosis(value=value, judgement="hidden", data=data)


def bad(
    value: str,
    *purposes: Purpose,
    why: str,
    change: str | None = None,
    fix: dict[str, str] | None = None,
    **data: Any,
) -> Diagnosis:
    """Say what it is bad for."""
    return Diagnosis(
        value=value,
        judgement="bad",
        purposes=purposes,
        why=why,
        change=change,
        fix=fix or {},
        data=data,
    )


def note(
    value: str,
    *purposes: Purpose,
    why: str | None = None,
    change: str | None = None,
    fix: dict[str, str] | None = None,
    **data: Any,
) -> Diagnosis:
    """Say what is worth knowing, and speaks against nothing."""
    return Diagnosis(
        value=value,
        judgement="note",
        purposes=purposes,
        why=why,
        change=change,
        fix=fix or {},
        data=data,
    )
