"""Time that the hypervisor gave to others."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

#: Place of steal among the ticks of ``/proc/stat``; guest time after it is counted twice there.
STEAL, COUNTED = 7, 8
#: Above it, steal is larger than what people compare.
LIMIT = 0.01
#: Fewer ticks of work say nothing of a share.
LEAST_TICKS = 25


def examine(view: View) -> Diagnosis:
    """Compare steal with all time that was asked for, since boot and now."""
    after = view.after.ticks if view.after else {}
    since_boot = _share(_read(view))
    now = None
    if view.before is not None and "cpu" in after and "cpu" in view.before.ticks:
        passed = zip(after["cpu"], view.before.ticks["cpu"], strict=True)
        now = _share(tuple(a - b for a, b in passed), LEAST_TICKS)
    if since_boot is None:
        return hidden()
    told = f"{since_boot:.1%} of the busy time since boot"
    if now is not None:
        told = f"{now:.1%} now, {told}"
    if now is not None and now < LIMIT <= since_boot:
        return note(
            told,
            "times",
            "parallel",
            why="it can come back at any moment: compare it before and after measuring",
            since_boot=since_boot,
            now=now,
        )
    if (since_boot if now is None else now) >= LIMIT:
        return bad(
            told,
            "times",
            "speed",
            "parallel",
            why="the hypervisor runs others while programs here wait for a CPU",
            change="ask for dedicated CPUs, or measure when neighbours sleep",
            since_boot=since_boot,
            now=now,
        )
    return good(told, since_boot=since_boot, now=now)


def _read(view: View) -> tuple[int, ...]:
    line = next(iter(view.kernel.lines("/proc/stat")), "")
    return tuple(map(int, line.split()[1:])) if line.startswith("cpu ") else ()


def _share(ticks: tuple[int, ...], least: int = 0) -> float | None:
    """Return steal among the time that was asked for: idle time cannot be stolen."""
    if len(ticks) <= STEAL:
        return None
    asked = sum(ticks[:COUNTED]) - ticks[3] - ticks[4]
    if asked < least:
        return None
    return ticks[STEAL] / asked if asked > 0 else 0.0


UNIT = Check(
    description=Description(
        name="steal",
        title="steal",
        question="Does the hypervisor give the CPU to others while it is wanted here?",
        source="proc(5), steal of /proc/stat; a time slice is 1 to 10 ms (sched(7))",
    ),
    order=11,
    effect="adds its share to wall times, in pieces of some ms (a neighbour's time slice)",
    examine=examine,
)
