"""Which driver sets the frequency, and whether the processor listens to it."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.host.settings.frequency import FOLDER, absence
from tare.registry import Description
from tare.results.message import message

INTEL, AMD = "/sys/devices/system/cpu/intel_pstate", "/sys/devices/system/cpu/amd_pstate"


def examine(view: View) -> Diagnosis:
    """Read driver and mode; a processor that chooses its frequency itself only takes hints."""
    kernel = view.kernel
    driver = kernel.read(f"{FOLDER}/scaling_driver".replace("*", "0"))
    if driver is None:
        return unknown(message(f"doctor.no_frequency.{absence(kernel)}"))
    mode = kernel.read(f"{INTEL}/status") or kernel.read(f"{AMD}/status")
    by_itself = driver in ("intel_pstate", "amd-pstate-epp") and (
        driver == "amd-pstate-epp" or "hwp" in view.flags()
    )
    value = message(
        "doctor.frequency_driver.value",
        driver=driver,
        mode=mode,
        autonomous=by_itself,
        hwp="hwp" in view.flags(),
    )
    data: dict[str, Any] = {"driver": driver, "mode": mode, "hwp": "hwp" in view.flags()}
    if by_itself:
        switch = "intel_pstate=passive" if driver == "intel_pstate" else "amd_pstate=passive"
        return warn(
            value,
            "speed",
            why=message("doctor.frequency_driver.hints"),
            change=message("doctor.frequency_driver.boot", switch=switch),
            **data,
        )
    return ok(value, **data)


UNIT = Check(
    description=Description(
        name="frequency_driver",
        title="frequency driver",
        question="Does the frequency that is asked for arrive?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
    ),
    order=21,
    examine=examine,
)
