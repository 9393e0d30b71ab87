"""Numbers in the sentences that statistics say of themselves."""

from __future__ import annotations

import math


def percent(share: float, *, sign: bool = False) -> str:
    """Write a share as per cent: ``percent(0.0312)`` is "3.1 %"."""
    value = 100 * share
    digits = 0 if abs(value) >= 20 else 1 if abs(value) >= 0.95 else 2
    return f"{value:{'+' if sign else ''}.{digits}f} %".replace("-", "−")


def chosen(share: float) -> str:
    """Write a share that somebody chose as they would: ``chosen(0.02)`` is "2 %"."""
    return f"{100 * share:.6g} %"


def p_value(p: float) -> str:
    """Write a probability; below one in a thousand only that it is."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def significant(value: float, digits: int = 3) -> str:
    """Write a number to so many significant digits, without an exponent where it can be helped."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(0, places)}f}".replace("-", "−")
