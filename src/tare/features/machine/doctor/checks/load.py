"""What else runs, and who it is."""

from __future__ import annotations

import shlex

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, Atom, Message, message

#: Places in a line of ``/proc/stat``: idle, and waiting for a disk.
IDLE, IOWAIT, COUNTED = 3, 4, 8
#: CPUs that other programs use from which the check fails, and from which it warns.
LIMIT, NOTED = 0.25, 0.05
#: ``USER_HZ``, the same on every machine that people measure on.
TICK_S = 0.01
MOST_NAMES = 4
#: Least share of the used CPU time that visible processes must account for to be named as its
#: cause.
SEEN = 0.3
#: Least share of a CPU for which a process is named.
LEAST = 0.01


def examine(view: View) -> Diagnosis:
    """Count who used the CPUs over a moment; without one, take the load average."""
    averages = (view.kernel.read("/proc/loadavg") or "").split()
    if view.before is None or view.after is None or not view.seconds:
        return _by_average(view, averages)
    busy = _busy(view)
    users = sorted(_users(view).items(), key=lambda user: -user[1])
    named: list[Atom] = [
        message("{name} {share}", name=name, share=Amount(used, "share"))
        for name, used in users[:MOST_NAMES]
        if used >= LEAST
    ]
    # Other containers' processes are counted, but not shown.
    seen = sum(used for _, used in users) >= SEEN * busy
    value = message(
        "{busy} of a CPU{% if users %}: {users | join(', ')}{% endif %}{% if unseen %}, most "
        "of it by programs that are not visible here or have ended{% endif %}",
        busy=Amount(busy, "share"),
        users=named,
        unseen=not seen and busy >= NOTED,
    )
    if busy >= LIMIT:
        return fail(
            value,
            "times",
            "speed",
            "memory",
            "network",
            "parallel",
            why=message("it takes CPU, caches and memory bandwidth from the measurement"),
            change=_stop(users, seen=seen),
        )
    if busy >= NOTED:
        return warn(value, "times", why=message("it disturbs some trials"))
    return ok(value if named else message("none that this kernel counts"))


def _by_average(view: View, averages: list[str]) -> Diagnosis:
    if not averages:
        return unknown()
    average, count = float(averages[0]), max(1, len(view.online()))
    value = message(
        "{tasks} tasks in the mean of the last minute, {cpus} CPUs",
        tasks=f"{average:g}",
        cpus=count,
    )
    if average >= LIMIT * count:
        return fail(
            value,
            "times",
            "speed",
            "parallel",
            why=message("others want the CPUs as well"),
            change=message("tare doctor   (without --quick: reports who)"),
        )
    return ok(value)


def _busy(view: View) -> float:
    """Return how many CPUs were at work, steal included."""
    assert view.before is not None
    assert view.after is not None
    now, then = view.after.ticks.get("cpu", ()), view.before.ticks.get("cpu", ())
    worked = [
        a - b
        for place, (a, b) in enumerate(zip(now[:COUNTED], then[:COUNTED], strict=False))
        if place not in (IDLE, IOWAIT)
    ]
    return max(0.0, sum(worked) * TICK_S / (view.seconds or 1.0))


def _users(view: View) -> dict[str, float]:
    """Return the CPUs that each program used, all its processes together."""
    assert view.before is not None
    assert view.after is not None
    found: dict[str, float] = {}
    for pid, process in view.after.processes.items():
        then = view.before.processes.get(pid)
        before = then.ticks if then is not None and then.started == process.started else 0
        share = (process.ticks - before) * TICK_S / (view.seconds or 1.0)
        if share > 0:
            found[process.name] = found.get(process.name, 0.0) + share
    return found


def _stop(users: list[tuple[str, float]], *, seen: bool) -> Message:
    if seen and users:
        return message("end it, or wait: pgrep -a {program}", program=shlex.quote(users[0][0]))
    return message("end it, or wait: top{% if unseen %}, on its host{% endif %}", unseen=not seen)


UNIT = Look(
    description=Description(
        name="load",
        title="load",
        question="Who else uses the CPUs?",
        source="sched(7): tasks of the same weight share a CPU evenly",
    ),
    order=60,
    effect=message("one more busy task on a CPU doubles wall times there"),
    look=examine,
)
