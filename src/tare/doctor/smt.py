"""Two threads on one core."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.kernel_files import cpus
from tare.registry import Description
from tare.settings.smt import FILE

SIBLINGS = "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"


def examine(view: View) -> Diagnosis:
    """Read the switch, and look which CPUs are threads of one core."""
    kernel = view.kernel
    control = kernel.read(FILE)
    shared = sorted(
        {text for n in kernel.glob(SIBLINGS) if len(cpus(text := kernel.read(n) or "")) > 1}
    )
    if control is None and not kernel.glob(SIBLINGS):
        return hidden()
    data: dict[str, Any] = {"control": control, "cores": shared}
    if shared:
        return bad(
            f"on: {'; '.join(shared[:4])}{' …' * (len(shared) > 4)} share a core each",
            "parallel", "speed", "strangers",
            why="two workers can share the units and caches of one core, and see each other",
            change=f"echo off | sudo tee {FILE}",
            fix={"smt": "off"} if control == "on" else None,
            **data,
        )  # fmt: skip
    if view.virtual():
        return note(
            "none shown",
            "parallel",
            why="the hypervisor may run two virtual CPUs on one core without showing it",
            **data,
        )
    return good("off" if control in ("off", "forceoff") else "none", **data)


UNIT = Check(
    description=Description(
        name="smt",
        title="threads of a core",
        question="May two workers share one core?",
        source="Marr et al., Hyper-Threading Technology Architecture and Microarchitecture, 2002",
    ),
    order=25,
    effect="both threads together do up to 1.3 of one: each is slower by a third or more",
    examine=examine,
)
