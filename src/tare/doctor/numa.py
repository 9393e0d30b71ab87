"""Memory that is nearer to some CPUs than to others."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.kernel_files import cpus
from tare.registry import Description

NODES = "/sys/devices/system/node/online"
BALANCING = "/proc/sys/kernel/numa_balancing"


def examine(view: View) -> Diagnosis:
    """Count the nodes, and look whether pages move between them."""
    nodes = cpus(view.kernel.read(NODES))
    balancing = view.kernel.number(BALANCING)
    if not nodes:
        return hidden()
    if len(nodes) == 1:
        return good("one node", nodes=1)
    data: dict[str, Any] = {"nodes": len(nodes), "balancing": balancing}
    if balancing:
        return bad(
            f"{len(nodes)} nodes, pages are moved between them",
            "memory", "times",
            why="the kernel takes pages away to see who uses them, and copies them",
            change="sudo sysctl kernel.numa_balancing=0",
            fix={"numa_balancing": "off"},
            **data,
        )  # fmt: skip
    return note(
        f"{len(nodes)} nodes, pages stay where they are",
        "memory",
        "parallel",
        why="memory of another node is slower: pin workers and their memory",
        change="numactl --cpunodebind=0 --membind=0 COMMAND",
        **data,
    )


UNIT = Check(
    description=Description(
        name="numa",
        title="memory nodes",
        question="Is all memory equally far, and does it stay where it is?",
        source="Documentation/admin-guide/sysctl/kernel.rst (numa_balancing); numa(7)",
    ),
    order=30,
    effect="memory of another node takes × 1.5 to × 2; a page taken away costs a fault of 1–2 µs",
    examine=examine,
)
