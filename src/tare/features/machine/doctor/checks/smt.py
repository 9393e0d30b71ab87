"""Two threads on one core."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.host.kernel_files import cpus
from tare.host.settings.smt import FILE
from tare.registry import Description
from tare.results.message import message

SIBLINGS = "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"


def examine(view: View) -> Diagnosis:
    """Read the switch, and look which CPUs are threads of one core."""
    kernel = view.kernel
    control = kernel.read(FILE)
    shared = sorted(
        {text for n in kernel.glob(SIBLINGS) if len(cpus(text := kernel.read(n) or "")) > 1}
    )
    if control is None and not kernel.glob(SIBLINGS):
        return unknown()
    data: dict[str, Any] = {"control": control, "cores": shared}
    if shared:
        return fail(
            message("doctor.smt.value", cores=[*shared[:4]], more=len(shared) > 4),
            "parallel", "speed", "strangers",
            why=message("doctor.smt.shares"),
            change=message("doctor.smt.set", file=FILE),
            fix={"smt": "off"} if control == "on" else None,
            **data,
        )  # fmt: skip
    if view.virtual():
        return warn(
            message("doctor.smt.not_shown"),
            "parallel",
            why=message("doctor.smt.hypervisor"),
            **data,
        )
    return ok(message(f"doctor.smt.{'off' if control in ('off', 'forceoff') else 'none'}"), **data)


UNIT = Check(
    description=Description(
        name="smt",
        title="threads of a core",
        question="May two workers share one core?",
        source="Marr et al., Hyper-Threading Technology Architecture and Microarchitecture, 2002",
    ),
    order=25,
    examine=examine,
)
