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
            message("none with CPU and memory"),
            "accounting",
            why=message("processes that outlive their parent are not counted"),
            change=message("sudo mount -t cgroup2 cgroup /sys/fs/cgroup"),
        )
    value = message(
        "{versions | listing}{% if missing %}, without {missing | listing}{% endif %}",
        versions=[
            message("version {number}", number=version)
            for version in sorted({version for version, _ in found.values()})
        ],
        missing=[name for name in NEEDED if name not in found],
    )
    if view.root() or all(_may_make(view, *where) for where in found.values()):
        return ok(value)
    return fail(
        message("{found}, not for this user", found=value),
        "accounting",
        why=message("CPU time and memory of a tree are only those that its parents waited for"),
        change=message("systemd-run --user --scope -p Delegate=yes tare …, or sudo tare …"),
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
    effect=message(
        "children that were not waited for are missing: up to all of a daemon's CPU time"
    ),
    look=examine,
)
