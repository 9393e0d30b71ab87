"""The kernel's watch over CPUs that do not answer."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

FOLDER = "/proc/sys/kernel"


def examine(view: View) -> Diagnosis:
    """Read which of the two watch."""
    nmi, soft = (view.kernel.number(f"{FOLDER}/{n}") for n in ("nmi_watchdog", "soft_watchdog"))
    if nmi is None and soft is None:
        return unknown()
    if nmi:
        return warn(
            message("doctor.watchdog.on"),
            "times",
            "accounting",
            why=message("doctor.watchdog.counter"),
            change=message("doctor.watchdog.set"),
            fix={"watchdog": "off"},
        )
    return ok(message(f"doctor.watchdog.{'timer' if soft else 'off'}"))


UNIT = Check(
    description=Description(
        name="watchdog",
        title="watchdog",
        question="Does a counter of each CPU belong to the kernel?",
        source="Documentation/admin-guide/lockup-watchdogs.rst",
    ),
    order=43,
    examine=examine,
)
