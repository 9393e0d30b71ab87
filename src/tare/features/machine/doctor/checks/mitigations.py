"""What the kernel does against leaks of the processor."""

from __future__ import annotations

import re

from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Message, message

FOLDER = "/sys/devices/system/cpu/vulnerabilities"


def examine(view: View) -> Diagnosis:
    """Count what is mitigated, and name what is left open."""
    told = {
        name.rpartition("/")[2]: text
        for name in view.kernel.glob(f"{FOLDER}/*")
        if (text := view.kernel.read(name))
    }
    if not told:
        return unknown()
    open_ = sorted(name for name, text in told.items() if text.startswith("Vulnerable"))
    mitigated = sum(text.startswith("Mitigation") for text in told.values())
    if not open_:
        return ok(message("doctor.mitigations.closed", count=mitigated))
    return fail(
        message("doctor.mitigations.open", names=[*open_], count=mitigated),
        "strangers",
        why=message("doctor.mitigations.leak"),
        change=_closing(view),
    )


#: Words of the command line that leave something open.
OPENING = re.compile(r"mitigations=off|no\w*spec\w*|nopti")


def _closing(view: View) -> Message:
    """Return what closes the rest: the command line that opened it, or newer microcode."""
    words = (view.kernel.read("/proc/cmdline") or "").split()
    if opened := [word for word in words if OPENING.fullmatch(word)]:
        return message("doctor.mitigations.boot", words=[*opened])
    if view.virtual():
        return message("doctor.mitigations.host")
    return message("doctor.mitigations.update")


UNIT = Look(
    description=Description(
        name="mitigations",
        title="mitigations",
        question="What does the kernel do against leaks of the processor?",
        source="Wikner and Razavi, RETBLEED: Arbitrary speculative code execution with return "
        "instructions, 2022",
    ),
    order=44,
    effect=message("doctor.mitigations.effect"),
    look=examine,
)
