"""How far off tare itself is, as the facts of a session say: what `tare selftest` found."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from tare.units import off_by, percent

#: An error below this share of a time changes nothing that is read from it.
_NOTABLE = 0.01
_FIGURES = (("wall", "ns"), ("CPU", "ns"), ("memory", "bytes"))

#: Gives the value of a fact by its name; None where there is none.
Fact = Callable[[str], Any]


def own_error(fact: Fact) -> str | None:
    """Tell the instrument's own error; None where nobody has looked."""
    told = [
        f"{name} {off_by(*found)}" for name, unit in _FIGURES if (found := _error(fact, name, unit))
    ]
    if not told:
        return None
    return f"The instrument's own error {_place(fact)}: {', '.join(told)} ({_source(fact)})."


def beside(fact: Fact, ns: float) -> str | None:
    """Tell the own error of a time where it is a notable share of it; None where it is not."""
    found = _error(fact, *_FIGURES[0])
    if found is None or ns <= 0:
        return None
    value, unit, half = found
    share = (abs(value) + (half or 0.0)) / ns
    if share < _NOTABLE:
        return None
    return (
        f"tare's own {_place(fact)}: wall {off_by(value, unit, half)}, up to {percent(share)} of "
        f"the median ({_source(fact)})"
    )


def _error(fact: Fact, name: str, unit: str) -> tuple[float, str, float | None] | None:
    stem = f"selftest_{name.lower()}_error"
    value, half = fact(f"{stem}_{unit}"), fact(f"{stem}_within_{unit}")
    if not isinstance(value, Real) or not isinstance(half, Real | None):
        return None
    return float(value), unit, None if half is None else float(half)


def _place(fact: Fact) -> str:
    where = fact("selftest_platform")
    return "here" if where in (None, "bare") else f"here, on {where}"


def _source(fact: Fact) -> str:
    return f"tare selftest, {fact('selftest_date')}"
