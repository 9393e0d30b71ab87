"""Time that the hypervisor gave to others."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, message

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
        return unknown()
    value = message(
        "{% if now is not none %}{now} now, {% endif %}{since_boot} of the busy time since boot",
        now=None if now is None else Amount(now, "share"),
        since_boot=Amount(since_boot, "share"),
    )
    if (now is None or now < LIMIT) and since_boot >= LIMIT:
        return warn(
            value,
            "times",
            "parallel",
            why=message("it can return at any moment: compare it before and after measuring"),
            change=None
            if view.after
            else message("tare doctor   (without --quick: counts it now)"),
        )
    if now is not None and now >= LIMIT:
        return fail(
            value,
            "times",
            "speed",
            "parallel",
            why=message("the hypervisor runs others while programs here wait for a CPU"),
            change=message("ask for dedicated CPUs, or measure when neighbours are idle"),
        )
    return ok(value)


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


UNIT = Look(
    description=Description(
        name="steal",
        title="steal",
        question="Does the hypervisor give the CPU to others while it is wanted here?",
        source="proc(5), steal of /proc/stat; a time slice is 1 to 10 ms (sched(7))",
    ),
    order=11,
    effect=message("adds its share to wall times, in pieces of some ms (a neighbour's time slice)"),
    look=examine,
)
