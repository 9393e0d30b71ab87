"""What the processor is told of speed against energy."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.host.settings.frequency import FOLDER, absence
from tare.registry import Description
from tare.results.message import message

BIAS = "/sys/devices/system/cpu/cpu*/power/energy_perf_bias"
#: Of the bias: 0 is all for speed, 15 all for energy; 6 is what machines start with.
FAST_BIAS = 0


def examine(view: View) -> Diagnosis:
    """Read the preference of every CPU; older processors have a bias in its place."""
    kernel = view.kernel
    files = kernel.glob(f"{FOLDER}/energy_performance_preference")
    words = sorted({word for name in files if (word := kernel.read(name))})
    if words:
        value = message("doctor.energy_preference.value", preferences=[*words])
        if words == ["performance"]:
            return ok(value)
        return fail(
            value,
            "times",
            "speed",
            why=message("doctor.energy_preference.late"),
            change=message("doctor.energy_preference.set"),
            fix={"energy_preference": "performance"},
        )
    biases = sorted(
        {bias for name in kernel.glob(BIAS) if (bias := kernel.number(name)) is not None}
    )
    if not biases:
        return unknown(message(f"doctor.no_frequency.{absence(kernel)}"))
    value = message("doctor.energy_preference.bias", biases=[*biases])
    if biases == [FAST_BIAS]:
        return ok(value)
    return fail(
        value,
        "speed",
        why=message("doctor.energy_preference.saves"),
        change=message("doctor.energy_preference.set_bias"),
    )


UNIT = Check(
    description=Description(
        name="energy_preference",
        title="energy preference",
        question="Is the processor told to be fast, or to save energy?",
        source="Documentation/admin-guide/pm/intel_pstate.rst (EPP, EPB)",
    ),
    order=23,
    examine=examine,
)
