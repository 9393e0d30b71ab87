"""What the processor is told of speed against energy."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description
from tare.settings.frequency import FOLDER, absent

BIAS = "/sys/devices/system/cpu/cpu*/power/energy_perf_bias"
#: Of the bias: 0 is all for speed, 15 all for energy; 6 is what machines start with.
FAST_BIAS = 0


def examine(view: View) -> Diagnosis:
    """Read the preference of every CPU; older processors have a bias in its place."""
    kernel = view.kernel
    files = kernel.glob(f"{FOLDER}/energy_performance_preference")
    words = sorted({word for name in files if (word := kernel.read(name))})
    if words:
        told = " and ".join(words)
        if words == ["performance"]:
            return good(told)
        return bad(
            told,
            "times",
            "speed",
            why="the processor raises its frequency late, to save energy",
            change="echo performance | sudo tee "
            "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
            fix={"energy_preference": "performance"},
        )
    biases = sorted(
        {bias for name in kernel.glob(BIAS) if (bias := kernel.number(name)) is not None}
    )
    if not biases:
        return hidden(absent(kernel))
    told = f"bias {' and '.join(map(str, biases))} of 15"
    if biases == [FAST_BIAS]:
        return good(told)
    return bad(
        told,
        "speed",
        why="the processor saves energy where it thinks that nobody notices",
        change="sudo cpupower set --perf-bias 0",
    )


UNIT = Check(
    description=Description(
        name="energy_preference",
        title="energy preference",
        question="Is the processor told to be fast, or to save energy?",
        source="Documentation/admin-guide/pm/intel_pstate.rst (EPP, EPB)",
    ),
    order=23,
    effect="some ms at less than full frequency after every pause",
    examine=examine,
)
