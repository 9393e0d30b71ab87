"""What the kernel does against leaks of the processor, and what that costs."""

from __future__ import annotations

import re

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Message, message

FOLDER = "/sys/devices/system/cpu/vulnerabilities"
#: What is paid (``doctor.mitigations.cost``), by words of the kernel.
COSTS = (
    ("PTI", "pti"),
    ("Clear CPU buffers", "buffers"),
    ("IBRS", "predictor"),
    ("untrained return thunk", "returns"),
    ("Safe RET", "kernel_returns"),
    ("Retpolines?", "indirect"),
    ("IBPB", "switches"),
    ("conditional cache flushes", "entries"),
)


def examine(view: View) -> Diagnosis:
    """List what is mitigated, what it costs, and what is left open."""
    told = {
        name.rpartition("/")[2]: text
        for name in view.kernel.glob(f"{FOLDER}/*")
        if (text := view.kernel.read(name))
    }
    if not told:
        return unknown()
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
    value = message(
        "doctor.mitigations.value",
        count=len(mitigated),
        costs=[message(f"doctor.mitigations.cost.{where}") for where in costs[:3]],
    )
    if open_:
        return fail(
            message("doctor.mitigations.open", mitigated=value, names=[*open_]),
            "strangers",
            why=message("doctor.mitigations.leak"),
            change=_closing(view),
            effect=message("doctor.mitigations.leak_effect"),
        )
    if costs:
        return warn(
            value,
            "speed",
            why=message("doctor.mitigations.differ"),
        )
    return ok(value if mitigated else message("doctor.mitigations.none"))


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
        source="Behrens, Belay and Kaashoek, Performance evolution of mitigating transient "
        "execution attacks, 2022; Wikner and Razavi, RETBLEED: Arbitrary speculative code "
        "execution with return instructions, 2022",
    ),
    order=44,
    look=examine,
)
