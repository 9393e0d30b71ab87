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
            return ok(message("doctor.numa_balancing.one")) if nodes else unknown()
        if self.read(view.kernel) == "on":
            return self.bad(view.kernel, message("doctor.numa_balancing.moved", nodes=nodes))
        return warn(
            message("doctor.numa_balancing.fixed", nodes=nodes),
            "memory",
            "parallel",
            why=message("doctor.numa_balancing.slower"),
            change=message("doctor.numa_balancing.bind"),
        )


UNIT = NumaBalancing(
    description=Description(
        name="numa_balancing",
        title="memory nodes",
        question="Is all memory equally far, and does it stay where it is?",
        source="Documentation/admin-guide/sysctl/kernel.rst (numa_balancing); numa(7)",
    ),
    order=30,
    effect=message("doctor.numa_balancing.effect"),
    why=message("doctor.numa_balancing.why"),
    wanted="off",
    files=("/proc/sys/kernel/numa_balancing",),
    words={"off": "0", "on": "1"},
    good=("off",),
    bad_for=("memory", "times"),
)
