"""The lowest frequency."""

from tare.host.settings.frequency import Limit
from tare.registry import Description

UNIT = Limit(
    description=Description(
        name="frequency_min",
        title="the lowest frequency, of every CPU",
        question="May a CPU slow down?",
        source="Documentation/admin-guide/pm/cpufreq.rst",
    ),
    wanted="base",
    file="scaling_min_freq",
)
