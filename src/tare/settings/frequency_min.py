"""The lowest frequency."""

from tare.registry import Description
from tare.settings.frequency import Limit

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
