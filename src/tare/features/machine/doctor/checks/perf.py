"""Whether the kernel may stamp and count for tare."""

from __future__ import annotations

import shlex

from tare.errors import AgentError
from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import PERFMON, SYS_ADMIN, View
from tare.registry import Description
from tare.results.message import message

_PERF_VALUE = (
    "level {level}{% if not counters %}, no hardware counters{% endif %}{% if allowed %}, "
    "for this user: {allowed}{% endif %}"
)

FILE = "/proc/sys/kernel/perf_event_paranoid"


def examine(view: View) -> Diagnosis:
    """Compare the level with this user's rights; look for hardware counters."""
    level = view.kernel.number(FILE)
    if level is None:
        return unknown(message("this kernel has no perf events, or /proc/sys is not visible"))
    counters = view.kernel.exists("/sys/bus/event_source/devices/cpu") or view.kernel.exists(
        "/sys/bus/event_source/devices/armv8_pmuv3_0"
    )
    value = message(_PERF_VALUE, level=level, counters=counters, allowed=None)
    if not view.capable(SYS_ADMIN, PERFMON) and level > 0:
        return fail(
            message(
                _PERF_VALUE,
                level=level,
                counters=counters,
                allowed=message("own processes only" if level < 3 else "nothing"),
            ),
            "accounting",
            "times",
            why=message("the kernel does not stamp starts and ends in containers"),
            change=message("sudo setcap cap_perfmon+ep {agent}", agent=shlex.quote(_agent())),
        )
    if not counters and view.virtual():
        return warn(
            value,
            "speed",
            why=message(
                "cycles and instructions cannot be counted: the hypervisor shows no counters"
            ),
            effect=message("without cycles, a slower clock and more work look alike"),
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
    effect=message("wall times taken around a process include its launch: 0.1 to 1 ms"),
    look=examine,
)
