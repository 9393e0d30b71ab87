"""Numbers and levels in words: every number with its unit, every list as a person writes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tare.statistics.telling import chosen as share
from tare.statistics.telling import percent, significant
from tare.units import SCALES

__all__ = [
    "at_levels", "change", "change_interval", "counted", "duration", "listing", "metric_name",
    "off_by", "percent", "quantity", "share", "significant", "unit_of",
]  # fmt: skip

_QUANTITIES = {
    "kernel_cpu_ns": "CPU time of the kernel",
    "kernel_wall_ns": "wall time of the kernel",
    "cpu_ns": "CPU time",
    "wall_ns": "wall time",
    "memory_bytes": "peak memory",
    "throughput": "work done a second",
}
#: Levels that go without saying.
_DEFAULTS = {"pinning": "none", "load": "none", "size": "all"}


def unit_of(metric: str) -> str:
    """Tell the unit of a metric from the suffix of its name."""
    suffix = metric.rsplit("_", 1)[-1]
    return suffix if suffix in ("ns", "bytes", "hz") else "1"


def metric_name(metric: str) -> str:
    """Name a metric as a person does: "wall time" for wall_ns."""
    return _QUANTITIES.get(metric, metric)


def quantity(value: float | None, unit: str) -> str:
    """Write a value with its unit: ``quantity(2.031e8, "ns")`` is "203 ms"."""
    if value is None:
        return "unknown"
    scales = SCALES.get(unit)
    if scales is None:
        return significant(value) if unit == "1" else f"{significant(value)} {unit}"
    name, scale = next((s for s in scales if abs(value) >= s[1]), scales[-1])
    return f"{significant(value / scale)} {name}"


def fact(name: str, value: bool | int | float | str) -> str:
    """Write a fact of a machine, whose unit its name ends in."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        units = (("_bytes", "bytes"), ("_hz", "Hz"), ("_ns", "ns"))
        unit = next((unit for suffix, unit in units if name.endswith(suffix)), None)
        return f"{value:,}" if unit is None else quantity(value, unit)
    return value


def off_by(value: float, unit: str, half: float | None = None, among: float | None = None) -> str:
    """Write an error with its sign, in one unit with half of its interval: "+0.07 ± 0.02 ms".

    ``among``: the size of those that it stands with, whose unit it has then.
    """
    scales = SCALES[unit][1:] if unit in ("ns", "bytes") else (("", 1.0),)
    size = max(abs(value), half or 0.0) if among is None else among
    # Errors that are compared with each other read best in few units.
    name, scale = next((s for s in scales if size >= 0.05 * s[1]), scales[-1])
    finest = (half or abs(value)) / scale
    places = 0
    if scale > 1 and finest > 0:
        places = min(3, max(0, 1 - math.floor(math.log10(finest))))
    text = f"{value / scale:+.{places}f}" if value else "0"
    if half:
        text += f" ± {half / scale:.{places}f}"
    return _minus(f"{text} {name}".rstrip())


def change(ratio: float) -> str:
    """Write a ratio as a change: ``change(1.03)`` is "+3.0 %", ``change(4)`` is "× 4.00"."""
    if _is_factor(ratio):
        return f"× {significant(ratio)}"
    return percent(ratio - 1, sign=True)


def change_interval(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio with its interval, all in one form: "+3.0 % [+2.1, +3.9]"."""
    if low is None or high is None:
        return f"{change(ratio)} (no interval)"
    if any(_is_factor(x) for x in (ratio, low, high)):
        places = min(6, 1 - math.floor(math.log10(low))) if 0 < low < 0.1 else 2
        places = max(0, places - max(0, math.floor(math.log10(max(low, 1)))))
        return f"× {ratio:.{places}f} [{low:.{places}f}, {high:.{places}f}]"
    width = high - low
    places = 0 if width >= 0.2 else 1 if width >= 0.01 else 2
    one, start, end = (_minus(f"{100 * (x - 1):+.{places}f}") for x in (ratio, low, high))
    return f"{one} % [{start}, {end}]"


def _is_factor(ratio: float) -> bool:
    return ratio >= 2 or ratio <= 0.5


def _minus(number: str) -> str:
    return number.replace("-", "−")


def counted(n: int, noun: str) -> str:
    """Write a number with its noun: "1 trial", "1,200 trials"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def listing(words: Iterable[str], word: str = "and") -> str:
    """Write a list: "a", "a and b", "a, b and c"."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def at_levels(levels: Mapping[str, str], varied: Sequence[str]) -> str:
    """Write where something holds: "exp_float with 2 workers under memcpy".

    Factors that have one level in the experiment and levels that go without saying are left
    out.
    """
    shown = {f: v for f, v in levels.items() if f in varied and _DEFAULTS.get(f) != v}
    words = [shown.pop("workload", levels.get("workload", "")) if "workload" in levels else ""]
    if "platform" in shown:
        words.append(f"on {shown.pop('platform')}")
    if "workers" in shown:
        words.append(f"with {counted(int(shown.pop('workers')), 'worker')}")
    if "load" in shown:
        words.append(f"under {shown.pop('load')}")
    if "pinning" in shown:
        pinned = shown.pop("pinning")
        words.append(pinned if pinned == "pinned" else f"pinned {pinned}")
    words += [f"at {factor} {level}" for factor, level in shown.items()]
    return " ".join(w for w in words if w)


def duration(seconds: float) -> str:
    """Write a time that a person waits: "40 s", "7 min", "3.5 h"."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    if seconds < 100 * 60:
        return f"{math.ceil(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
