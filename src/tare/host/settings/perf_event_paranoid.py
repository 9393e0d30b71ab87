"""Who may count events."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="perf_event_paranoid",
        title="who may count events of the processor and the kernel",
        question="May an ordinary user have the kernel stamp and count?",
        source="Documentation/admin-guide/perf-security.rst",
    ),
    wanted="-1",
    files=("/proc/sys/kernel/perf_event_paranoid",),
    words={},
)
