"""Control groups: which version, and whether tare may make some."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description

#: What accounts for CPU and memory.
NEEDED = ("cpu", "memory")


def examine(view: View) -> Diagnosis:
    """Find the hierarchies, and the group that tare is in."""
    mounts = [line.split() for line in view.kernel.lines("/proc/self/mounts")]
    found: dict[str, tuple[int, str]] = {}
    versions: set[int] = set()
    for _, path, kind, options, *_ in mounts:
        if kind == "cgroup":
            versions.add(1)
            found |= {name: (1, path) for name in options.split(",") if name in NEEDED}
        elif kind == "cgroup2":
            controllers = (view.kernel.read(f"{path}/cgroup.controllers") or "").split()
            versions.add(2)
            found |= {name: (2, path) for name in controllers if name in NEEDED}
    if not mounts:
        return hidden()
    data: dict[str, Any] = {"versions": sorted(versions), "controllers": sorted(found)}
    if not found:
        return bad(
            "none with CPU and memory",
            "accounting",
            why="what a process leaves behind is not counted",
            change="sudo mount -t cgroup2 cgroup /sys/fs/cgroup",
            **data,
        )
    told = " and ".join(f"version {version}" for version in sorted({v for v, _ in found.values()}))
    if missing := [name for name in NEEDED if name not in found]:
        told += f", without {' and '.join(missing)}"
    if view.root() or all(_may_make(view, *where) for where in found.values()):
        return good(told, **data)
    return bad(
        f"{told}, not for this user",
        "accounting",
        why="a tree's CPU time and memory come from what its parents waited for",
        change="systemd-run --user --scope -p Delegate=yes tare …, or sudo tare …",
        **data,
    )


def _may_make(view: View, version: int, path: str) -> bool:
    for line in view.kernel.lines("/proc/self/cgroup"):
        _, controllers, own = line.split(":", 2)
        if (version == 2) == (controllers == "") and view.kernel.may_write(path + own):
            return True
    return False


UNIT = Check(
    description=Description(
        name="cgroups",
        title="control groups",
        question="Can tare count the CPU and memory of a whole process tree?",
        source="Documentation/admin-guide/cgroup-v2.rst; wait(2): RUSAGE_CHILDREN",
    ),
    order=50,
    effect="children that nobody waited for are missing: up to all of a daemon's CPU time",
    examine=examine,
)
