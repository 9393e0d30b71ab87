"""Patterns and times as they are typed: ``full-speed``, ``10-30``, ``2w``."""

from __future__ import annotations

import re
from fractions import Fraction

from tare.errors import UsageError

FULL_SPEED = "full-speed"
REST = "rest"
#: Patterns by which clouds were measured (CLOUDNET, section 3).
KNOWN = (FULL_SPEED, "10-30", "5-30")

_ON_OFF = re.compile(
    r"\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*-\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*"
)
_LEAST_ON_NS = 10_000_000


def on_off_ns(text: str) -> tuple[int, int]:
    """Return how long a pattern sends, and how long it rests; rest 0: it never does.

    Raises
    ------
    UsageError
        If it is none.
    """
    if text.strip() == FULL_SPEED:
        return 10**9, 0
    if text.strip() == REST:
        return 0, 10**9
    found = _ON_OFF.fullmatch(text)
    on_ns, off_ns = (round(Fraction(n) * 10**9) for n in found.groups()) if found else (0, 0)
    if found is None or on_ns < _LEAST_ON_NS:
        raise UsageError(
            f"--pattern {text!r} is neither {FULL_SPEED} nor seconds on and off",
            f"--pattern {' | '.join(KNOWN)} | ON-OFF",
        )
    return on_ns, off_ns
