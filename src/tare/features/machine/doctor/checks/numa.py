"""Memory that is nearer to some CPUs than to others."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.host.kernel_files import cpus
from tare.registry import Description
from tare.results.message import message

NODES = "/sys/devices/system/node/online"
BALANCING = "/proc/sys/kernel/numa_balancing"


def examine(view: View) -> Diagnosis:
    """Count the nodes, and look whether pages move between them."""
    nodes = cpus(view.kernel.read(NODES))
    balancing = view.kernel.number(BALANCING)
    if not nodes:
        return unknown()
    if len(nodes) == 1:
        return ok(message("doctor.numa.one"), nodes=1)
    data: dict[str, Any] = {"nodes": len(nodes), "balancing": balancing}
    if balancing:
        return fail(
            message("doctor.numa.moved", nodes=len(nodes)),
            "memory", "times",
            why=message("doctor.numa.takes"),
            change=message("doctor.numa.set"),
            fix={"numa_balancing": "off"},
            **data,
        )  # fmt: skip
    return warn(
        message("doctor.numa.fixed", nodes=len(nodes)),
        "memory",
        "parallel",
        why=message("doctor.numa.slower"),
        change=message("doctor.numa.bind"),
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
    examine=examine,
)
