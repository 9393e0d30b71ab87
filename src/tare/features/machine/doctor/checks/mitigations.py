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
        return ok(message("{count | counted('leak')} closed by the kernel", count=mitigated))
    return fail(
        message(
            "{names | length | counted('leak')} open ({names | join(', ')}); "
            "{count | counted('leak')} closed by the kernel",
            names=[*open_],
            count=mitigated,
        ),
        "strangers",
        why=message("an untrusted program can read memory of others"),
        change=_closing(view),
    )


#: Words of the command line that leave something open.
OPENING = re.compile(r"mitigations=off|no\w*spec\w*|nopti")


def _closing(view: View) -> Message:
    """Return what closes the rest: the command line that opened it, or newer microcode."""
    words = (view.kernel.read("/proc/cmdline") or "").split()
    if opened := [word for word in words if OPENING.fullmatch(word)]:
        return message("boot without {words | join(' ')}", words=[*opened])
    if view.virtual():
        return message(
            "ask the host's owner for newer microcode that its hypervisor shows, then reboot"
        )
    return message(
        "update kernel and microcode (apt install amd64-microcode intel-microcode), reboot"
    )


UNIT = Look(
    description=Description(
        name="mitigations",
        title="mitigations",
        question="What does the kernel do against leaks of the processor?",
        source="Wikner and Razavi, RETBLEED: Arbitrary speculative code execution with return "
        "instructions, 2022",
    ),
    order=44,
    effect=message("some bytes to some kB of others' memory a second"),
    look=examine,
)
