"""Whether executions share the bias of one layout in memory."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

FILE = "/proc/sys/kernel/randomize_va_space"


def examine(view: View) -> Diagnosis:
    """Read the switch; drawing layouts anew is what makes their bias average out."""
    value = view.kernel.number(FILE)
    if value is None:
        return unknown()
    if value >= 2:
        return ok(message("doctor.address_randomization.on"))
    return fail(
        message(f"doctor.address_randomization.{'partial' if value else 'off'}"),
        "times", "speed", "strangers",
        why=message("doctor.address_randomization.one"),
        change=message("doctor.address_randomization.set"),
        fix={"address_randomization": "on"},
    )  # fmt: skip


UNIT = Check(
    description=Description(
        name="address_randomization",
        title="address randomisation",
        question="Do executions draw their layout in memory anew?",
        source="Mytkowicz et al., Producing wrong data without doing anything obviously wrong, "
        "2009",
    ),
    order=32,
    examine=examine,
)
