"""Who decides on the frequency, and by what."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.host.settings.frequency import FOLDER, absence
from tare.registry import Description
from tare.results.message import message

#: What keeps the frequency where it is; on a processor that chooses itself (HWP, EPP) as well.
STEADY = ("performance", "userspace")


def examine(view: View) -> Diagnosis:
    """Read it of every CPU."""
    kernel = view.kernel
    found = {
        name.split("/")[5]: kernel.read(name) for name in kernel.glob(f"{FOLDER}/scaling_governor")
    }
    names = sorted({governor for governor in found.values() if governor})
    if not names:
        return unknown(message(f"doctor.no_frequency.{absence(kernel)}"))
    value = message("doctor.governor.value", governors=[*names])
    if all(name in STEADY for name in names):
        return ok(value, governors=found)
    offered = kernel.read(f"{FOLDER}/scaling_available_governors".replace("*", "0")) or ""
    has_performance = "performance" in offered.split() or not offered
    ratio = _ratio(view)
    return fail(
        value,
        "times",
        "speed",
        why=message("doctor.governor.follows", differ=len(names) > 1),
        change=message("doctor.governor.set") if has_performance else None,
        fix={"governor": "performance"} if has_performance else None,
        effect=message("doctor.governor.range", ratio=f"{ratio:.2g}") if ratio else None,
        source="cpuinfo_min_freq and cpuinfo_max_freq of this machine" if ratio else None,
        governors=found,
    )


def _ratio(view: View) -> float | None:
    folder = FOLDER.replace("*", "0")
    low = view.kernel.number(f"{folder}/cpuinfo_min_freq")
    high = view.kernel.number(f"{folder}/cpuinfo_max_freq")
    return high / low if low and high else None


UNIT = Check(
    description=Description(
        name="governor",
        title="frequency governor",
        question="Does the frequency stay where it is while something runs?",
        source="Documentation/admin-guide/pm/cpufreq.rst",
    ),
    order=20,
    examine=examine,
)
