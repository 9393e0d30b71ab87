"""Who decides on the frequency."""

from tare.host.settings.frequency import absent
from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="governor",
        title="what the kernel chooses the CPUs' frequency by",
        question="May the frequency follow the load, and so the harness's pauses?",
        source="Documentation/admin-guide/pm/cpufreq.rst",
    ),
    wanted="performance",
    files=("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",),
    offered="/sys/devices/system/cpu/cpu*/cpufreq/scaling_available_governors",
    why_absent=absent,
)
