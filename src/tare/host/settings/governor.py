"""Who decides on the frequency, and by what."""

from tare.host.settings.frequency import FOLDER, absence
from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="governor",
        title="frequency governor",
        question="Does the frequency stay where it is while something runs?",
        source="Documentation/admin-guide/pm/cpufreq.rst",
    ),
    order=20,
    effect=message("× 2 to × 4, the highest frequency over the lowest, until it has risen"),
    why=message("the frequency follows the load of the last milliseconds"),
    wanted="performance",
    files=(f"{FOLDER}/scaling_governor",),
    offered=f"{FOLDER}/scaling_available_governors",
    # On a processor that chooses itself (HWP, EPP) as well.
    good=("performance", "userspace"),
    bad_for=("times", "speed"),
    why_absent=absence,
)
