"""Where workloads run: each layer is one file with one ``UNIT``; a stack is written outside-in."""

from __future__ import annotations

from tare.platforms.layer import NOT_HELD, Figure, Held, Instance, Place, Port, Root, Starter
from tare.platforms.stack import (
    availability,
    brings_files,
    layers,
    network_end,
    network_needs_root,
    offered,
    other_network,
    own_files,
    own_network,
    root_refusal,
    shares_memory,
    showing,
    slow,
    start,
    starts_programs,
)

__all__ = [
    "NOT_HELD",
    "Figure",
    "Held",
    "Instance",
    "Place",
    "Port",
    "Root",
    "Starter",
    "availability",
    "brings_files",
    "layers",
    "network_end",
    "network_needs_root",
    "offered",
    "other_network",
    "own_files",
    "showing",
    "own_network",
    "root_refusal",
    "shares_memory",
    "starts_programs",
    "slow",
    "start",
]
