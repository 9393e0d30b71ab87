"""Whether the kernel may stamp and count for tare."""

from __future__ import annotations

import shlex

from tare.errors import AgentError
from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import PERFMON, SYS_ADMIN, View
from tare.registry import Description
from tare.results.message import message

FILE = "/proc/sys/kernel/perf_event_paranoid"


def examine(view: View) -> Diagnosis:
    """Compare the level with this user's rights; look for hardware counters."""
    level = view.kernel.number(FILE)
    if level is None:
        return unknown(message("doctor.perf.none"))
    counters = view.kernel.exists("/sys/bus/event_source/devices/cpu") or view.kernel.exists(
        "/sys/bus/event_source/devices/armv8_pmuv3_0"
    )
    value = message("doctor.perf.value", level=level, counters=counters, allowed=None)
    if not view.capable(SYS_ADMIN, PERFMON) and level > 0:
        return fail(
            message(
                "doctor.perf.value",
                level=level,
                counters=counters,
                allowed=message(f"doctor.perf.{'own' if level < 3 else 'nothing'}"),
            ),
            "accounting",
            "times",
            why=message("doctor.perf.unstamped"),
            change=message("doctor.perf.capability", agent=shlex.quote(_agent())),
        )
    if not counters and view.virtual():
        return warn(
            value,
            "speed",
            why=message("doctor.perf.uncounted"),
            effect=message("doctor.perf.alike"),
        )
    return ok(value)


def _agent() -> str:
    """Return where the agent is, which stamps."""
    from tare.agent.client import binary

    try:
        return str(binary())
    except AgentError:
        return "tare-agent"


UNIT = Look(
    description=Description(
        name="perf",
        title="perf events",
        question="May the kernel stamp starts and ends for tare?",
        source="Documentation/admin-guide/perf-security.rst; docs/reference/metrics.md (wall_ns)",
    ),
    order=51,
    effect=message("doctor.perf.effect"),
    look=examine,
)
