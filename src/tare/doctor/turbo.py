"""Frequencies that only last while the processor is cool and few cores are busy."""

from __future__ import annotations

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description, scan
from tare.settings.frequency import FOLDER, absent
from tare.settings.turbo import INTEL
from tare.units import percent, quantity


def examine(view: View) -> Diagnosis:
    """Read the switch; say by how much the highest frequency is above the base."""
    kernel = view.kernel
    now = scan("settings")["turbo"].read(kernel)
    if now is None:
        return hidden(absent(kernel))
    if now == "off":
        return good("off")
    folder = FOLDER.replace("*", "0")
    base, most = (
        kernel.number(f"{folder}/base_frequency"),
        kernel.number(f"{folder}/cpuinfo_max_freq"),
    )
    intel = kernel.exists(INTEL)
    told = bad(
        now,
        "speed",
        "parallel",
        why="the frequency depends on how many cores are busy, and on the heat of what ran before",
        change=f"echo 1 | sudo tee {INTEL}" if intel
        else "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        fix={"turbo": "off"},
        base_khz=base,
        highest_khz=most,
    )  # fmt: skip
    if not base or not most or most <= base:
        return told
    return msgspec.structs.replace(
        told,
        effect=f"up to +{percent(most / base - 1)}: {quantity(1e3 * most, 'Hz')} over "
        f"{quantity(1e3 * base, 'Hz')}",
        source="cpuinfo_max_freq and base_frequency of this machine",
    )


UNIT = Check(
    description=Description(
        name="turbo",
        title="turbo",
        question="Does the speed depend on what the other cores do?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst",
    ),
    order=22,
    effect="+20 to +60 % with one busy core, less with each further one",
    examine=examine,
)
