"""How readily memory is swapped out."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="swappiness",
        title="how readily the kernel swaps memory out",
        question="May what is measured be swapped out in favour of files?",
        source="Documentation/admin-guide/sysctl/vm.rst",
    ),
    wanted="0",
    files=("/proc/sys/vm/swappiness",),
    words={},
)
