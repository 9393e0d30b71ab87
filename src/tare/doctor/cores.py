"""Which CPUs there are, and whether they are alike."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.kernel_files import cpu_list, cpus
from tare.registry import Description

CPU = "/sys/devices/system/cpu"


def examine(view: View) -> Diagnosis:
    """Look for CPUs that are slower than others, switched off, or not for us."""
    online = view.online()
    if not online:
        return hidden()
    allowed = cpus(view.kernel.fields("/proc/self/status").get("Cpus_allowed_list"))
    offline = cpus(view.kernel.read(f"{CPU}/offline"))
    told = f"{len(online)} online"
    if offline:
        told += f", {cpu_list(offline)} offline"
    if allowed and set(allowed) < set(online):
        told += f", tare may use {cpu_list(allowed)}"
    data: dict[str, Any] = {
        "online": list(online),
        "offline": list(offline),
        "allowed": list(allowed),
    }
    kinds = _kinds(view)
    if len(kinds) > 1:
        words = " and ".join(f"{cpu_list(members)} ({kind})" for kind, members in kinds.items())
        fast = cpu_list(max(kinds.items(), key=_rank)[1])
        return bad(
            f"{told}; of several kinds: {words}",
            "times", "speed", "parallel",
            why="the scheduler decides which kind a trial meets",
            change=f"taskset -c {fast} tare …",
            **data,
        )  # fmt: skip
    if len(online) == 1 or len(allowed) == 1:
        only = note(told, "parallel", why="whatever else runs shares the only CPU", **data)
        return msgspec.structs.replace(only, effect="n workers on one CPU take n times as long")
    return good(told, **data)


def _kinds(view: View) -> dict[str, tuple[int, ...]]:
    """Return the CPUs by kind: Intel names them, Arm gives each a capacity."""
    kernel = view.kernel
    core = cpus(kernel.read("/sys/devices/cpu_core/cpus"))
    atom = cpus(kernel.read("/sys/devices/cpu_atom/cpus"))
    if core and atom:
        return {"performance": core, "efficiency": atom}
    found: dict[str, tuple[int, ...]] = {}
    for cpu in view.online():
        capacity = kernel.number(f"{CPU}/cpu{cpu}/cpu_capacity")
        if capacity is not None:
            found[f"capacity {capacity}"] = (*found.get(f"capacity {capacity}", ()), cpu)
    return found


def _rank(kind: tuple[str, tuple[int, ...]]) -> int:
    word = kind[0].rpartition(" ")[2]
    return int(word) if word.isdigit() else int(word == "performance")


UNIT = Check(
    description=Description(
        name="cores",
        title="CPUs",
        question="Are all CPUs alike, and may they be used?",
        source="Documentation/scheduler/sched-capacity.rst",
    ),
    order=13,
    effect="a small core has a quarter to a half of a large one's capacity",
    examine=examine,
)
