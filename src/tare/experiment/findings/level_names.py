"""Names of facts and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.render.words import shown
from tare.results.message import Levels
from tare.units import quantity

#: Levels that go without saying.
_DEFAULTS = {"pinning": "none", "load": "none", "size": "all"}


def key_of(levels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return levels as a key, whatever order they are in."""
    return tuple(sorted(levels.items()))


def unit_of(metric: str) -> str:
    """Tell the unit of a metric from the suffix of its name."""
    suffix = metric.rsplit("_", 1)[-1]
    return suffix if suffix in ("ns", "bytes", "hz") else "1"


def fact(name: str, value: bool | int | float | str) -> str:
    """Write a fact of a machine, whose unit its name ends in."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        units = (("_bytes", "bytes"), ("_hz", "Hz"), ("_ns", "ns"))
        unit = next((unit for suffix, unit in units if name.endswith(suffix)), None)
        return f"{value:,}" if unit is None else quantity(value, unit)
    return value


def where(levels: Mapping[str, str], varied: Sequence[str]) -> Levels:
    """Keep the levels that name a cell among the others.

    Factors that have one level in the experiment, levels that go without saying and, of imported
    results, levels that a cell does not have are left out, except for the workload.
    """
    return Levels(
        {
            factor: level
            for factor, level in levels.items()
            if factor == "workload"
            or (factor in varied and level not in ("", _DEFAULTS.get(factor)))
        }
    )


def at_levels(levels: Mapping[str, str], varied: Sequence[str]) -> str:
    """Write where something holds: "exp_float with 2 workers under memcpy"."""
    return shown(where(levels, varied))
