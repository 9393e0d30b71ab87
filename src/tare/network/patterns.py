"""Patterns and times as they are typed: ``full-speed``, ``10-30``, ``2w``."""

from __future__ import annotations

import re
from fractions import Fraction

from tare.errors import UsageError

FULL_SPEED = "full-speed"
REST = "rest"
#: Patterns by which clouds were measured (CLOUDNET, section 3).
KNOWN = (FULL_SPEED, "10-30", "5-30")

_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
    "h": 3600 * 10**9, "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9,
}  # fmt: skip
_DURATION = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([a-zµ]+)\s*")
_ON_OFF = re.compile(
    r"\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*-\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*"
)
#: Ten years: nobody waits longer, and everything fits its integers.
_LONGEST_NS = 10 * 366 * 86_400 * 10**9
_LEAST_ON_NS = 10_000_000


def nanoseconds(text: str, option: str, least_ns: int = 1) -> int:
    """Return a time that was typed: ``10ms``, ``90 s``, ``1h``, ``2w``.

    Parameters
    ----------
    text : str
        What was typed.
    option : str
        For what, to say it where it is wrong.
    least_ns : int
        Shortest that is possible.

    Raises
    ------
    UsageError
        If it is no time, or none that is possible.
    """
    found = _DURATION.fullmatch(text)
    unit = _NS.get(found[2]) if found is not None else None
    if found is None or unit is None:
        raise UsageError(
            f"{option} {text!r} is no time with its unit ({', '.join(_NS)})",
            f"{option} 10min",
        )
    value = round(Fraction(found[1]) * unit)
    if not least_ns <= value <= _LONGEST_NS:
        least = f"{least_ns / 1e6:g}ms"
        raise UsageError(f"{option} {text!r} is not from {least} to 520w", f"{option} {least}")
    return value


def on_off_ns(text: str) -> tuple[int, int]:
    """Return how long a pattern sends, and how long it rests; rest 0: it never does.

    Raises
    ------
    UsageError
        If it is none.
    """
    if text.strip() == FULL_SPEED:
        return _NS["s"], 0
    if text.strip() == REST:
        return 0, _NS["s"]
    found = _ON_OFF.fullmatch(text)
    on_ns, off_ns = (round(Fraction(n) * _NS["s"]) for n in found.groups()) if found else (0, 0)
    if found is None or on_ns < _LEAST_ON_NS:
        raise UsageError(
            f"--pattern {text!r} is neither {FULL_SPEED} nor seconds on and off",
            f"--pattern {' | '.join(KNOWN)} | ON-OFF",
        )
    return on_ns, off_ns
