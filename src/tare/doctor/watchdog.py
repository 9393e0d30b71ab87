"""The kernel's watch over CPUs that do not answer."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

FOLDER = "/proc/sys/kernel"


def examine(view: View) -> Diagnosis:
    """Read which of the two watch."""
    nmi, soft = (view.kernel.number(f"{FOLDER}/{n}") for n in ("nmi_watchdog", "soft_watchdog"))
    if nmi is None and soft is None:
        return hidden()
    if nmi:
        return note(
            "on, with a counter of each CPU",
            "times",
            "accounting",
            why="one hardware counter fewer, and an interrupt that nothing can mask",
            change="sudo sysctl kernel.nmi_watchdog=0",
            fix={"watchdog": "off"},
        )
    return good("by timer only" if soft else "off")


UNIT = Check(
    description=Description(
        name="watchdog",
        title="watchdog",
        question="Does a counter of each CPU belong to the kernel?",
        source="Documentation/admin-guide/lockup-watchdogs.rst",
    ),
    order=43,
    effect="one of 4 to 8 counters, and some µs every 10 s",
    examine=examine,
)
