"""Control groups: which version, and whether tare may make some."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

#: Controllers that account for CPU time and memory.
NEEDED = ("cpu", "memory")


def examine(view: View) -> Diagnosis:
    """Find the hierarchies, and the group that tare is in."""
    mounts = [line.split() for line in view.kernel.lines("/proc/self/mounts")]
    found: dict[str, tuple[int, str]] = {}
    for _, path, kind, options, *_ in mounts:
        if kind == "cgroup":
            found |= {name: (1, path) for name in options.split(",") if name in NEEDED}
        elif kind == "cgroup2":
            controllers = (view.kernel.read(f"{path}/cgroup.controllers") or "").split()
            found |= {name: (2, path) for name in controllers if name in NEEDED}
    if not mounts:
        return unknown()
    if not found:
        return fail(
            message("doctor.cgroups.none"),
            "accounting",
            why=message("doctor.cgroups.uncounted"),
            change=message("doctor.cgroups.mount"),
        )
    value = message(
        "doctor.cgroups.value",
        versions=[
            message("doctor.cgroups.version", number=version)
            for version in sorted({version for version, _ in found.values()})
        ],
        missing=[name for name in NEEDED if name not in found],
    )
    if view.root() or all(_may_make(view, *where) for where in found.values()):
        return ok(value)
    return fail(
        message("doctor.cgroups.denied", found=value),
        "accounting",
        why=message("doctor.cgroups.waited"),
        change=message("doctor.cgroups.delegate"),
    )


def _may_make(view: View, version: int, path: str) -> bool:
    for line in view.kernel.lines("/proc/self/cgroup"):
        _, controllers, own = line.split(":", 2)
        if (version == 2) == (controllers == "") and view.kernel.may_write(path + own):
            return True
    return False


UNIT = Look(
    description=Description(
        name="cgroups",
        title="control groups",
        question="Can tare count the CPU and memory of a whole process tree?",
        source="Documentation/admin-guide/cgroup-v2.rst; wait(2): RUSAGE_CHILDREN",
    ),
    order=50,
    effect=message("doctor.cgroups.effect"),
    look=examine,
)
