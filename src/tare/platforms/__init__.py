"""Where workloads run: each layer is one file with one ``UNIT``; a stack is written outside-in."""

from __future__ import annotations

from tare.platforms.layer import NOT_HELD, Figure, Held, Instance, Place, Root
from tare.platforms.stack import (
    availability,
    brings_files,
    layers,
    offered,
    own_files,
    own_network,
    shares_memory,
    slow,
    start,
)

__all__ = [
    "NOT_HELD",
    "Figure",
    "Held",
    "Instance",
    "Place",
    "Root",
    "availability",
    "brings_files",
    "layers",
    "offered",
    "own_files",
    "own_network",
    "shares_memory",
    "slow",
    "start",
]
