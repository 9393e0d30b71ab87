"""How far off tare itself is, as the facts of a session say: what `tare selftest` found."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from tare.results.message import Amount, Deviation, Message, message

#: An error below this share of a time changes nothing that is read from it.
_NOTABLE = 0.01
_FIGURES = (("wall", "ns"), ("CPU", "ns"), ("memory", "bytes"))

#: Gives the value of a fact by its name; None where there is none.
Fact = Callable[[str], Any]


def own_error(fact: Fact) -> Message | None:
    """Return the measurement error of tare itself; None where it was not measured."""
    found = [
        message("{name} {error}", name=name, error=error)
        for name, unit in _FIGURES
        if (error := _error(fact, name, unit))
    ]
    if not found:
        return None
    return message(
        "Measurement error of tare {place}: {errors | join(', ')} ({source}).",
        place=_place(fact),
        errors=[*found],
        source=_source(fact),
    )


def notable(fact: Fact, ns: float) -> Message | None:
    """Return the error of a time where it is a notable share of it; None where it is not."""
    found = _error(fact, *_FIGURES[0])
    if found is None or ns <= 0:
        return None
    share = (abs(found.value) + (found.half or 0.0)) / ns
    if share < _NOTABLE:
        return None
    return message(
        "measurement error of tare {place}: wall {error}, up to {share} of the median ({source})",
        place=_place(fact),
        error=found,
        share=Amount(share, "share"),
        source=_source(fact),
    )


def _error(fact: Fact, name: str, unit: str) -> Deviation | None:
    stem = f"selftest_{name.lower()}_error"
    value, half = fact(f"{stem}_{unit}"), fact(f"{stem}_within_{unit}")
    if not isinstance(value, Real) or not isinstance(half, Real | None):
        return None
    return Deviation(float(value), unit, None if half is None else float(half))


def _place(fact: Fact) -> Message:
    where = fact("selftest_platform")
    if where in (None, "bare"):
        return message("on this machine")
    return message("on this machine ({platform})", platform=str(where))


def _source(fact: Fact) -> Message:
    return message("tare selftest, {date}", date=str(fact("selftest_date")))
