"""Names of metrics, facts and levels in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.units import counted, quantity

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


def fact(name: str, value: bool | int | float | str) -> str:
    """Write a fact of a machine, whose unit its name ends in."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        units = (("_bytes", "bytes"), ("_hz", "Hz"), ("_ns", "ns"))
        unit = next((unit for suffix, unit in units if name.endswith(suffix)), None)
        return f"{value:,}" if unit is None else quantity(value, unit)
    return value


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
