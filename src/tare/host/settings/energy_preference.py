"""What the processor is told of speed against energy, where it chooses the frequency itself."""

from tare.host.settings.frequency import absent
from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="energy_preference",
        title="what the processor prefers where it chooses the frequency itself",
        question="Does the processor wait before it is fast?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
    ),
    wanted="performance",
    files=("/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",),
    offered="/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_available_preferences",
    why_absent=absent,
)
