"""Memory that is nearer to some CPUs than to others, and pages that move to where they are used."""

from __future__ import annotations

from tare.host.check import Diagnosis, ok, unknown, warn
from tare.host.kernel_files import cpus
from tare.host.settings.setting import FileSetting
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message


class NumaBalancing(FileSetting):
    """A switch that matters only where there are several nodes."""

    def examine(self, view: View) -> Diagnosis:
        """Count the nodes, and look whether pages move between them."""
        nodes = len(cpus(view.kernel.read("/sys/devices/system/node/online")))
        if nodes < 2:
            return ok(message("one node")) if nodes else unknown()
        if self.read(view.kernel) == "on":
            return self.bad(
                view.kernel, message("{nodes} nodes, pages are moved between them", nodes=nodes)
            )
        return warn(
            message("{nodes} nodes, pages stay where they are", nodes=nodes),
            "memory",
            "parallel",
            why=message("memory of another node is slower: pin workers and their memory"),
            change=message("numactl --cpunodebind=0 --membind=0 COMMAND"),
        )


UNIT = NumaBalancing(
    description=Description(
        name="numa_balancing",
        title="memory nodes",
        question="Is all memory equally far, and does it stay where it is?",
        source="Documentation/admin-guide/sysctl/kernel.rst (numa_balancing); numa(7)",
    ),
    order=30,
    effect=message(
        "memory of another node takes × 1.5 to × 2; a page taken away costs a fault of 1–2 µs"
    ),
    why=message("the kernel unmaps pages to see who uses them, and copies them"),
    wanted="off",
    files=("/proc/sys/kernel/numa_balancing",),
    words={"off": "0", "on": "1"},
    good=("off",),
    bad_for=("memory", "times"),
)
