"""The highest frequency."""

from tare.host.settings.frequency import Limit
from tare.registry import Description

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
