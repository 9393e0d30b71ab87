"""Whether nice reaches beyond its own session."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

FILE = "/proc/sys/kernel/sched_autogroup_enabled"


def examine(view: View) -> Diagnosis:
    """Read the switch."""
    value = view.kernel.number(FILE)
    if value is None:
        return unknown(message("doctor.autogroup.none"))
    if value:
        return warn(
            message("doctor.autogroup.on"),
            "times",
            "parallel",
            why=message("doctor.autogroup.nice"),
            change=message("doctor.autogroup.set"),
            fix={"autogroup": "off"},
        )
    return ok(message("doctor.autogroup.off"))


UNIT = Check(
    description=Description(
        name="autogroup",
        title="autogroup",
        question="Does nice hold back what runs in another session?",
        source="sched(7), the autogroup feature and the weights of nice values",
    ),
    order=40,
    examine=examine,
)
