"""Who decides on the frequency, and by what."""

from __future__ import annotations

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description
from tare.settings.frequency import FOLDER, absent

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
        return hidden(absent(kernel))
    told = " and ".join(names)
    if all(name in STEADY for name in names):
        return good(told, governors=found)
    why = "the frequency follows the load of the last milliseconds"
    if len(names) > 1:
        why += ", and not on all CPUs alike"
    offered = kernel.read(f"{FOLDER}/scaling_available_governors".replace("*", "0")) or ""
    has_performance = "performance" in offered.split() or not offered
    found_bad = bad(
        told,
        "times",
        "speed",
        why=why,
        change="sudo cpupower frequency-set -g performance" if has_performance else None,
        fix={"governor": "performance"} if has_performance else None,
        governors=found,
    )
    if (ratio := _ratio(view)) is None:
        return found_bad
    return msgspec.structs.replace(
        found_bad,
        effect=f"up to × {ratio:.2g}, the highest frequency over the lowest, until it has risen",
        source="cpuinfo_min_freq and cpuinfo_max_freq of this machine",
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
    effect="× 2 to × 4, the highest frequency over the lowest, until it has risen",
    examine=examine,
)
