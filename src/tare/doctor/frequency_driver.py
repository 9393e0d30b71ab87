"""Which driver sets the frequency, and whether the processor listens to it."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description
from tare.settings.frequency import FOLDER, absent

INTEL, AMD = "/sys/devices/system/cpu/intel_pstate", "/sys/devices/system/cpu/amd_pstate"


def examine(view: View) -> Diagnosis:
    """Read driver and mode; a processor that chooses its frequency itself only takes hints."""
    kernel = view.kernel
    driver = kernel.read(f"{FOLDER}/scaling_driver".replace("*", "0"))
    if driver is None:
        return hidden(absent(kernel))
    mode = kernel.read(f"{INTEL}/status") or kernel.read(f"{AMD}/status")
    by_itself = driver in ("intel_pstate", "amd-pstate-epp") and (
        driver == "amd-pstate-epp" or "hwp" in view.flags()
    )
    told = f"{driver} ({mode})" if mode else driver
    if by_itself:
        told += ", the processor chooses by itself" + (" (HWP)" if "hwp" in view.flags() else "")
    data: dict[str, Any] = {"driver": driver, "mode": mode, "hwp": "hwp" in view.flags()}
    if by_itself:
        switch = "intel_pstate=passive" if driver == "intel_pstate" else "amd_pstate=passive"
        return note(
            told,
            "speed",
            why="governors and limits are hints: what frequency there was has to be measured",
            change=f"boot with {switch}, where the governor has to have the last word",
            **data,
        )
    return good(told, **data)


UNIT = Check(
    description=Description(
        name="frequency_driver",
        title="frequency driver",
        question="Does the frequency that is asked for arrive?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
    ),
    order=21,
    effect="HWP changes the frequency within about 1 ms, without the kernel's knowledge",
    examine=examine,
)
