"""What the kernel does against leaks of the processor, and what that costs."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

FOLDER = "/sys/devices/system/cpu/vulnerabilities"
#: What is paid, and when, by words of the kernel.
COSTS = (
    ("PTI", "every system call (page tables)"),
    ("Clear CPU buffers", "every system call (buffers)"),
    ("IBRS", "every system call (branch predictor)"),
    ("untrained return thunk", "every system call (returns)"),
    ("Safe RET", "every return in the kernel"),
    ("Retpolines?", "indirect calls in the kernel"),
    ("IBPB", "switches between processes"),
    ("conditional cache flushes", "entries to virtual machines"),
)


def examine(view: View) -> Diagnosis:
    """List what is mitigated, what it costs, and what is left open."""
    told = {
        name.rpartition("/")[2]: text
        for name in view.kernel.glob(f"{FOLDER}/*")
        if (text := view.kernel.read(name))
    }
    if not told:
        return hidden()
    open_ = sorted(name for name, text in told.items() if text.startswith("Vulnerable"))
    mitigated = sorted(name for name, text in told.items() if text.startswith("Mitigation"))
    # One line tells of several measures, each of which may not be needed.
    parts = [part for text in told.values() for part in re.split("[;,]", text)]
    # Enhanced IBRS is always on and costs nothing at a system call.
    idle = ("Not affected", "disabled", "Enhanced", "Automatic")
    active = [part for part in parts if not any(word in part for word in idle)]
    costs = [
        where
        for word, where in COSTS
        if any(re.search(rf"\b{word}\b", part, re.IGNORECASE) for part in active)
    ]
    value = f"{len(mitigated)} mitigated"
    if costs:
        value += f", paid by {', '.join(costs[:3])}"
    data: dict[str, Any] = {"told": told, "costs": costs}
    if open_:
        return msgspec.structs.replace(
            bad(
                f"{value}; open: {', '.join(open_)}",
                "strangers",
                why="a stranger's program can read what is not its own",
                change=_closing(view),
                **data,
            ),
            effect="some bytes to some kB of others' memory a second",
            source="Wikner and Razavi, RETBLEED: Arbitrary speculative code execution with return "
            "instructions, 2022",
        )
    if costs:
        return note(
            value,
            "speed",
            why="machines and kernels with other mitigations differ in all that enters the kernel",
            **data,
        )
    return good(value if mitigated else "none is needed", **data)


#: Words of the command line that leave something open.
OPENING = re.compile(r"mitigations=off|no\w*spec\w*|nopti")


def _closing(view: View) -> str:
    """Say what closes the rest: the command line where it opened it, otherwise newer microcode."""
    words = (view.kernel.read("/proc/cmdline") or "").split()
    if opened := [word for word in words if OPENING.fullmatch(word)]:
        return f"boot without {' '.join(opened)}"
    if view.virtual():
        return "ask the host's owner for newer microcode that its hypervisor shows, then reboot"
    return "update kernel and microcode (apt install amd64-microcode intel-microcode), reboot"


UNIT = Check(
    description=Description(
        name="mitigations",
        title="mitigations",
        question="What does the kernel do against leaks of the processor?",
        source="Behrens, Belay and Kaashoek, Performance evolution of mitigating transient "
        "execution attacks, 2022",
    ),
    order=44,
    effect="about 3 % of work in the kernel on newer processors, ten times that on older ones",
    examine=examine,
)
