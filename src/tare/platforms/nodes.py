"""Nodes of memory: which one is near to CPUs that an instance is pinned to."""

from __future__ import annotations

from pathlib import Path

NODES = Path("/sys/devices/system/node")


def near(cpus: tuple[int, ...] | None) -> str | None:
    """Return the node that all CPUs are on, as a cpuset has it; None: several, or the only one."""
    if cpus is None:
        return None
    found = {path.name.removeprefix("node"): _cpus(path) for path in NODES.glob("node[0-9]*")}
    nodes = [name for name, own in found.items() if own & set(cpus)]
    return nodes[0] if len(nodes) == 1 < len(found) else None


def _cpus(node: Path) -> set[int]:
    try:
        text = (node / "cpulist").read_text().strip()
    except OSError:
        return set()
    ranges = (part.partition("-") for part in text.split(",") if part)
    return {cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)}
