"""What a check finds: a value, a verdict, for what, and what changes it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tare.results.message import Message, message

#: What a machine can be fit for; ``doctor.purpose`` in the words has what each means.
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
    #: Where that is known from.
    source: str | None = None
    #: What was read, for programs.
    data: dict[str, Any] = {}


def ok(value: Message, **data: Any) -> Diagnosis:
    """Return that nothing is against measuring."""
    return Diagnosis(value=value, verdict="ok", data=data)


def unknown(value: Message | None = None, **data: Any) -> Diagnosis:
    """Return that it cannot be seen."""
    return Diagnosis(value=value or message("doctor.not_visible"), verdict="unknown", data=data)


def fail(
    value: Message,
    *purposes: Purpose,
    why: Message,
    change: Message | None = None,
    fix: dict[str, str] | None = None,
    effect: Message | None = None,
    source: str | None = None,
    **data: Any,
) -> Diagnosis:
    """Return what it is bad for."""
    return Diagnosis(
        value=value, verdict="fail", purposes=purposes, why=why, change=change, fix=fix or {},
        effect=effect, source=source, data=data,
    )  # fmt: skip


def warn(
    value: Message,
    *purposes: Purpose,
    why: Message,
    change: Message | None = None,
    fix: dict[str, str] | None = None,
    effect: Message | None = None,
    **data: Any,
) -> Diagnosis:
    """Return what is worth knowing."""
    return Diagnosis(
        value=value, verdict="warn", purposes=purposes, why=why, change=change, fix=fix or {},
        effect=effect, data=data,
    )  # fmt: skip
