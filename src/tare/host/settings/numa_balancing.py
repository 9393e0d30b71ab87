"""Pages that move to where they are used."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="numa_balancing",
        title="moving pages to the node that uses them",
        question="May pages move while they are measured?",
        source="Documentation/admin-guide/sysctl/kernel.rst",
    ),
    wanted="off",
    files=("/proc/sys/kernel/numa_balancing",),
    words={"off": "0", "on": "1"},
)
