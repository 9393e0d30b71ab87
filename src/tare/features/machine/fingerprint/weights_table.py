"""What several platforms take, side by side: the rows that terminal and page show."""

from __future__ import annotations

from collections.abc import Sequence

from tare.features.machine.fingerprint.weights import Weighed
from tare.results.message import Amount
from tare.units import significant

#: Of each primitive that programs rest on, the figures that stand for it.
SHOWN = (
    "trial.wall", "trial.round_trip", "trial.spread", "loop.dependent_add", "memory.latency.l2",
    "memory.latency.dram", "memory.bandwidth.copy.1", "fault.minor_anonymous",
    "fault.copy_on_write", "syscall.getpid", "syscall.open_close", "syscall.read_byte",
    "clock.vdso", "switch.process", "process.exec_smallest", "thread.create_join",
    "file.cache.speed", "network.round_trip.tcp_p50", "network.connect.whole",
)  # fmt: skip
#: How long instances take, by their field of ``Starting``.
STARTS = {"first start": "cold", "later starts": "warm", "tear-down": "stop"}
#: What they hold on the host: field of ``Holding``, and its unit.
HELD = {
    "memory around the agent": ("around_memory_bytes", "bytes"),
    "memory of the agent": ("agent_memory_bytes", "bytes"),
    "CPUs around the agent": ("around_cpu_share", "share"),
}
_MARKS = {"costs": "▲", "saves": "▽", "same": "=", "inconclusive": "?"}

#: What a row is of, and its cell on every platform; None: not known there.
Row = tuple[str, list[Amount | str | None]]


def rows(platforms: Sequence[Weighed], *, every: bool) -> list[Row]:
    """Return the rows: starts, figures beside those of the first platform, and what they hold.

    Parameters
    ----------
    platforms : sequence of Weighed
    every : bool
        Whether to return all figures, not only those that stand for a primitive.
    """
    first, *others = platforms
    own = first.fingerprint.metrics if first.fingerprint is not None else {}
    found: list[Row] = []
    for label, key in STARTS.items():
        started = [getattr(one.starting, key, None) for one in platforms]
        found.append((label, [None if one is None else one.amount for one in started]))
    for metric in own if every else [name for name in SHOWN if name in own]:
        found.append((metric, [own[metric].amount, *(_ratio(one, metric) for one in others)]))
    for label, (key, unit) in HELD.items():
        held = [getattr(one.holding, key, None) for one in platforms]
        found.append((label, [None if one is None else Amount(one, unit) for one in held]))
    return [(label, cells) for label, cells in found if any(cell is not None for cell in cells)]


def _ratio(one: Weighed, metric: str) -> str | None:
    """Write a figure as a multiple of the first platform's; in brackets where it is no cost."""
    cost = next((cost for cost in one.costs if cost.metric == metric), None)
    if cost is None:
        return None
    ratio = f"× {significant(cost.ratio)}"
    if cost.low is not None and cost.high is not None:
        ratio += f" [{significant(cost.low)}, {significant(cost.high)}]"
    return f"({ratio})" if one.emulated else f"{ratio} {_MARKS[cost.verdict]}"


def head(one: Weighed) -> str:
    """Return the title of a platform's column."""
    return f"{one.platform} (emulated)" if one.emulated else one.platform
