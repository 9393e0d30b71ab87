"""Whether executions share the bias of one layout in memory."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description

FILE = "/proc/sys/kernel/randomize_va_space"


def examine(view: View) -> Diagnosis:
    """Read the switch; drawing layouts anew is what makes their bias average out."""
    value = view.kernel.number(FILE)
    if value is None:
        return hidden()
    if value >= 2:
        return good("on: every execution has a layout of its own")
    return bad(
        "partial: the heap is not moved" if value else "off",
        "times", "speed", "strangers",
        why="all executions share one layout, and its luck looks like a property of the program",
        change="sudo sysctl kernel.randomize_va_space=2",
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
    effect="some per cent in either direction, the same in every repetition",
    examine=examine,
)
