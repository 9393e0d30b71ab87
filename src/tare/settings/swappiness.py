"""How readily memory is swapped out."""

from tare.registry import Description
from tare.settings.setting import FileSetting

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
