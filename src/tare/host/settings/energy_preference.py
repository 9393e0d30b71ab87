"""What the processor is told of speed against energy, where it chooses the frequency itself."""

from tare.host.settings.frequency import FOLDER, absence
from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="energy_preference",
        title="energy preference",
        question="Is the processor told to be fast, or to save energy?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst (EPP)",
    ),
    order=23,
    effect=message("some ms at less than full frequency after every pause"),
    why=message("the processor raises its frequency late, to save energy"),
    wanted="performance",
    files=(f"{FOLDER}/energy_performance_preference",),
    offered=f"{FOLDER}/energy_performance_available_preferences",
    good=("performance",),
    bad_for=("times", "speed"),
    why_absent=absence,
)
