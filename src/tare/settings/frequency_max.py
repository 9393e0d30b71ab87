"""The highest frequency."""

from tare.registry import Description
from tare.settings.frequency import Limit

UNIT = Limit(
    description=Description(
        name="frequency_max",
        title="the highest frequency, of every CPU",
        question="May a CPU go faster than it can hold?",
        source="Documentation/admin-guide/pm/cpufreq.rst",
    ),
    wanted="base",
    file="scaling_max_freq",
)
