"""Time that the hypervisor gave to others."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description
from tare.units import percent

#: Place of steal among the ticks of ``/proc/stat``; guest time after it is counted twice there.
STEAL, COUNTED = 7, 8
#: Above it, steal is larger than what people compare.
LIMIT = 0.01
#: Fewer ticks of work say nothing of a share.
LEAST_TICKS = 25


def examine(view: View) -> Diagnosis:
    """Compare steal with all time that was asked for, since boot and now."""
    since_boot, now = _share(_read(view)), None
    # While it is listened to noise all CPUs are wanted: an idle machine shows its steal then only.
    last = view.listened or view.after
    after = last.ticks if last else {}
    if view.before is not None and "cpu" in after and "cpu" in view.before.ticks:
        passed = zip(after["cpu"], view.before.ticks["cpu"], strict=True)
        now = _share(tuple(a - b for a, b in passed), LEAST_TICKS)
    if since_boot is None:
        return hidden()
    told = f"{percent(since_boot)} of the busy time since boot"
    if now is not None:
        told = f"{percent(now)} now, {told}"
    if (now is None or now < LIMIT) and since_boot >= LIMIT:
        return note(
            told,
            "times",
            "parallel",
            why="it can come back at any moment: compare it before and after measuring",
            change=None if view.after else "tare doctor   (without --quick it counts it now)",
            since_boot=since_boot,
            now=now,
        )
    if now is not None and now >= LIMIT:
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
