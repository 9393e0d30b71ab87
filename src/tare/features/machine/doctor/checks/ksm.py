"""Whether pages of the same content are merged."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

FOLDER = "/sys/kernel/mm/ksm"


def examine(view: View) -> Diagnosis:
    """Read whether the daemon scans, and what it has merged."""
    run, merged = view.kernel.number(f"{FOLDER}/run"), view.kernel.number(f"{FOLDER}/pages_sharing")
    if run is None:
        return unknown()
    if run == 1:
        return fail(
            message("doctor.ksm.on", pages=merged or 0),
            "memory",
            "strangers",
            why=message("doctor.ksm.copies"),
            change=message("doctor.ksm.set", file=f"{FOLDER}/run"),
            fix={"ksm": "off"},
            pages_merged=merged,
        )
    return ok(message("doctor.ksm.off"), pages_merged=merged)


UNIT = Check(
    description=Description(
        name="ksm",
        title="merged pages (KSM)",
        question="Do writes meet pages that have to be copied first?",
        source="Documentation/admin-guide/mm/ksm.rst; measured: a copy on write takes 1.8–2.0 µs",
    ),
    order=34,
    examine=examine,
)
