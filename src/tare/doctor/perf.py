"""Whether the kernel may stamp and count for tare."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import PERFMON, SYS_ADMIN, View
from tare.errors import AgentError
from tare.registry import Description

FILE = "/proc/sys/kernel/perf_event_paranoid"


def examine(view: View) -> Diagnosis:
    """Compare the level with this user's rights; look for hardware counters."""
    level = view.kernel.number(FILE)
    if level is None:
        return hidden("this kernel has no perf events, or /proc/sys is not visible")
    counters = view.kernel.exists("/sys/bus/event_source/devices/cpu") or view.kernel.exists(
        "/sys/bus/event_source/devices/armv8_pmuv3_0"
    )
    told = f"level {level}" + ("" if counters else ", no hardware counters")
    data: dict[str, Any] = {"level": level, "hardware": counters}
    if not view.capable(SYS_ADMIN, PERFMON) and level > 0:
        return bad(
            f"{told}, for this user: {'own processes only' if level < 3 else 'nothing at all'}",
            "accounting",
            "times",
            why="starts and ends are not stamped by the kernel in containers",
            change=f"sudo setcap cap_perfmon+ep {shlex.quote(_agent())}",
            **data,
        )
    if not counters and view.virtual():
        uncounted = note(
            told,
            "speed",
            why="cycles and instructions cannot be counted: the hypervisor shows no counters",
            **data,
        )
        effect = "without cycles, a slower clock and more work look alike"
        return msgspec.structs.replace(uncounted, effect=effect)
    return good(told, **data)


def _agent() -> str:
    """Return where the agent is, which stamps."""
    from tare.agent import binary

    try:
        return str(binary())
    except AgentError:
        return "tare-agent"


UNIT = Check(
    description=Description(
        name="perf",
        title="perf events",
        question="May the kernel stamp starts and ends for tare?",
        source="Documentation/admin-guide/perf-security.rst; "
        "docs/explanation/architecture.md (wall_ns)",
    ),
    order=51,
    effect="wall times taken around a process include its launch: 0.1 to 1 ms",
    examine=examine,
)
