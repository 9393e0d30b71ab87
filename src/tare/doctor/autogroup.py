"""Whether nice reaches beyond its own session."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

FILE = "/proc/sys/kernel/sched_autogroup_enabled"


def examine(view: View) -> Diagnosis:
    """Read the switch."""
    value = view.kernel.number(FILE)
    if value is None:
        return hidden("this kernel groups by no session, or it is not visible")
    if value:
        return note(
            "on",
            "times",
            "parallel",
            why="nice does nothing across sessions: a batch job at nice 19 in another terminal "
            "gets half of a CPU all the same",
            change="sudo sysctl kernel.sched_autogroup_enabled=0",
            fix={"autogroup": "off"},
        )
    return good("off")


UNIT = Check(
    description=Description(
        name="autogroup",
        title="autogroup",
        question="Does nice hold back what runs in another session?",
        source="sched(7), the autogroup feature and the weights of nice values",
    ),
    order=40,
    effect="50 % of a CPU instead of 1.5 % for a job at nice 19 beside one at nice 0",
    examine=examine,
)
