"""Which values no measurement can have, whoever sends or stores them."""

from __future__ import annotations

from tare.agent import record

#: Times and amounts, which are never below 0.
AMOUNTS = frozenset((
    "cpu_ns", "memory_bytes", "on_cpu_ns", "system_ns", "teardown_ns", "tree_wall_ns", "user_ns",
    "wait_ns", "wall_ns",
))  # fmt: skip


def is_impossible(sample: record.Sample) -> bool:
    """Tell whether a sample is a time or an amount below 0."""
    return sample.value < 0 and sample.metric in AMOUNTS
