"""Control groups of this machine, with their limits and their end; and nodes of memory."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError
from tare.platforms.layer import Place

MOUNTS = Path("/proc/self/mounts")
OWN = Path("/proc/self/cgroup")
PROC = Path("/proc")
NODES = Path("/sys/devices/system/node")
#: Files that are there only where the kernel counts swap, or lets a group save up CPU time.
OPTIONAL = (
    "memory.memsw.limit_in_bytes", "memory.swap.max", "cpu.cfs_burst_us", "cpu.max.burst",
)  # fmt: skip
#: Version 1 counts CPU time in a hierarchy that may be one of its own; version 2 always does.
COUNTING = ("cpuacct",)
#: How long killed processes may take to leave a group.
EMPTY_S = 5.0


class Hierarchy(NamedTuple):
    """One mounted hierarchy; of version 2 there is one, with all controllers that v1 left it."""

    path: Path
    version: int
    controllers: frozenset[str]


def hierarchies() -> Iterator[Hierarchy]:
    """Yield every mounted hierarchy."""
    for line in MOUNTS.read_text().splitlines():
        _, path, kind, options, *_ = line.split()
        if kind == "cgroup":
            yield Hierarchy(Path(path), 1, frozenset(options.split(",")))
        elif kind == "cgroup2":
            with contextlib.suppress(OSError):
                text = (Path(path) / "cgroup.controllers").read_text()
                yield Hierarchy(Path(path), 2, frozenset(text.split()))


def limited(place: Place, *, above: bool = False) -> list[Path]:
    """Make groups that hold an instance to its cores and memory.

    Parameters
    ----------
    place : Place
        Its ``cores`` and ``memory_bytes`` say what is limited, its name names the groups.
    above : bool
        Whether a group of version 2 may be made outside this process's own, whose limits do not
        hold for it then. :func:`clear` finds it, :func:`release` does not.

    Returns
    -------
    list of Path
        The groups, one a hierarchy, to be entered by the first process.

    Raises
    ------
    PlatformError
        If this user or machine has no group that could limit it.
    """
    made: list[Path] = []
    try:
        for controller, limits in _limits(place).items():
            hierarchy = next((h for h in hierarchies() if controller in h.controllers), None)
            if hierarchy is None:
                if controller in COUNTING:
                    continue
                raise FileNotFoundError(f"no control groups with the controller {controller}")
            group = of(hierarchy) / place.name
            if hierarchy.version == 2:
                group = _enabled(hierarchy, controller, above=above) / place.name
            group.mkdir(exist_ok=True)
            made.append(group)
            for name, value in limits[hierarchy.version].items():
                if name not in OPTIONAL or (group / name).exists():
                    (group / name).write_text(str(value))
    except OSError as error:
        release(place.name)
        raise PlatformError(
            f"cores and memory of an instance cannot be limited here: {error}",
            "run it as root or under systemd, on docker, or without a quota or size",
        ) from error
    return list(dict.fromkeys(made))


def _enabled(hierarchy: Hierarchy, controller: str, *, above: bool) -> Path:
    """Return the group of version 2 in which new groups have a controller.

    That is this process's own, unless it holds processes, as a scope of systemd does: the kernel
    refuses controllers there. Then it may be the nearest one ``above`` that has the controller.
    """
    own = of(hierarchy)
    try:
        (own / "cgroup.subtree_control").write_text(f"+{controller}")
    except OSError:
        for group in own.parents if above else ():
            if not group.is_relative_to(hierarchy.path):
                break
            with contextlib.suppress(OSError):
                if controller in (group / "cgroup.subtree_control").read_text().split():
                    return group
        raise
    return own


def confined(place: Place) -> list[Path]:
    """Make a group that keeps an instance on its CPUs, whatever affinity it asks for.

    Where there can be none, what is inside has its CPUs by affinity alone, which it inherits.
    """
    if place.cpus is None:
        return []
    group = None
    try:
        hierarchy = next(h for h in hierarchies() if "cpuset" in h.controllers)
        group = of(hierarchy) / place.name
        if hierarchy.version == 2:
            (group.parent / "cgroup.subtree_control").write_text("+cpuset")
        group.mkdir(exist_ok=True)
        if hierarchy.version == 1:
            # Nobody may enter while it has no memory nodes.
            nodes = (group.parent / "cpuset.mems").read_text()
            (group / "cpuset.mems").write_text(nodes)
        (group / "cpuset.cpus").write_text(",".join(map(str, place.cpus)))
        # Version 2 takes any list, and gives what is left of it.
        effective = group / "cpuset.cpus.effective"
        if hierarchy.version == 2 and listed(effective.read_text()) != set(place.cpus):
            raise OSError(f"{group} is given other CPUs")
    except (OSError, StopIteration, ValueError):
        if group is not None:
            with contextlib.suppress(OSError):
                group.rmdir()
        return []
    return [group]


def listed(text: str) -> set[int]:
    """Return the numbers of a list of the kernel's: ``0-2,48``."""
    parts = [part.partition("-") for part in text.strip().split(",") if part]
    return {n for first, _, last in parts for n in range(int(first), int(last or first) + 1)}


def _limits(place: Place) -> dict[str, dict[int, dict[str, int | str]]]:
    """Return what is written: by controller, version of the hierarchy, and file."""
    limits: dict[str, dict[int, dict[str, int | str]]] = {}
    if place.cores is not None:
        quota = place.quota_us
        limits["cpu"] = {
            1: {
                "cpu.cfs_period_us": place.period_us,
                "cpu.cfs_quota_us": quota,
                "cpu.cfs_burst_us": 0,
            },
            2: {"cpu.max": f"{quota} {place.period_us}", "cpu.max.burst": 0},
        }
        limits["cpuacct"] = {1: {}}
    if (memory := place.memory_bytes) is not None:
        limits["memory"] = {
            1: {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
            2: {"memory.max": memory, "memory.swap.max": 0},
        }
    return limits


def memory_limits() -> list[int]:
    """Return the limits on memory that this process is under, its own group's and those above."""
    found = []
    with contextlib.suppress(OSError):
        for hierarchy in (h for h in hierarchies() if "memory" in h.controllers):
            group = of(hierarchy)
            file = "memory.max" if hierarchy.version == 2 else "memory.limit_in_bytes"
            while group.is_relative_to(hierarchy.path):
                # ``max``: none; the root of version 2 has no such file.
                with contextlib.suppress(OSError, ValueError):
                    found.append(int((group / file).read_text()))
                group = group.parent
    return found


def entering(groups: list[Path], argv: list[str]) -> list[str]:
    """Return a command that enters groups and then becomes another command."""
    if not groups:
        return argv
    script = 'while test "$1" != --; do echo $$ >"$1/cgroup.procs" || exit; shift; done'
    return ["/bin/sh", "-c", f'{script}; shift; exec "$@"', "tare", *map(str, groups), "--", *argv]


def is_frozen(pid: int) -> bool:
    """Tell whether a process stands still because its group, or one above it, is frozen."""
    for hierarchy in hierarchies():
        if hierarchy.version == 2:
            with contextlib.suppress(OSError):
                return "frozen 1" in (of(hierarchy, pid) / "cgroup.events").read_text()
    return False


def release(name: str) -> None:
    """Remove the groups of an instance that has ended; what is busy stays for ``cleanup``."""
    for hierarchy in hierarchies():
        with contextlib.suppress(OSError):
            (of(hierarchy) / name).rmdir()


def named(chosen: Callable[[str], object]) -> list[Path]:
    """Return every group whose name is chosen, deepest first."""
    found = [
        Path(folder) / name
        for hierarchy in hierarchies()
        for folder, names, _ in os.walk(hierarchy.path)
        for name in names
        if chosen(name)
    ]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def clear(name: str) -> None:
    """Kill what an instance left in groups of its own; what is busy stays for ``cleanup``."""
    for group in named(re.compile(rf"{re.escape(name)}(?=-|\.|$)").match):
        with contextlib.suppress(OSError):
            remove(group)


def remove(group: Path) -> None:
    """Kill what is in a group and below it, then remove them, deepest first.

    Raises
    ------
    OSError
        If it cannot be emptied.
    """
    below = sorted((Path(folder) for folder, _, _ in os.walk(group)), reverse=True)
    deadline = time.monotonic() + EMPTY_S
    for path in below:
        while path.exists():
            _kill_members(path)
            try:
                path.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


def _kill_members(group: Path) -> None:
    with contextlib.suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def of(hierarchy: Hierarchy, pid: int | None = None) -> Path:
    """Return the group of a process (None: this one); inside a container it may not be shown."""
    own = OWN if pid is None else PROC / str(pid) / "cgroup"
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        names = set(controllers.split(",")) if controllers else set()
        if bool(names) == (hierarchy.version == 1) and names <= hierarchy.controllers:
            group = hierarchy.path / path.lstrip("/")
            return group if group.is_dir() else hierarchy.path
    return hierarchy.path


def near(cpus: tuple[int, ...] | None) -> str | None:
    """Return the node that all CPUs are on, as a cpuset has it; None: several, or the only one."""
    if cpus is None:
        return None
    found = {
        path.name.removeprefix("node"): listed((path / "cpulist").read_text())
        for path in NODES.glob("node[0-9]*")
    }
    nodes = [name for name, own in found.items() if own & set(cpus)]
    return nodes[0] if len(nodes) == 1 < len(found) else None
