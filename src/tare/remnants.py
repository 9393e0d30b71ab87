"""What sessions leave on a machine when they are killed, and how it is removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tare import lease as leases
from tare import registry
from tare.errors import PlatformError
from tare.lease import Lease, Remnant
from tare.platforms import processes

#: Directories in which sessions keep files, each in one of its own.
FOLDERS = (Path("/dev/shm"), Path("/tmp"))


@contextlib.contextmanager
def lease(name: str) -> Iterator[Lease]:
    """Hold the lease of a session, and remove at its end whatever it still left.

    Parameters
    ----------
    name : str
        From :func:`tare.lease.new_name`; everything that the session makes begins with it.
    """
    with leases.hold(name) as held:
        try:
            yield held
        finally:
            _remove([one for one in found() if leases.session_of(one.name) == name])


def cleanup(*, all: bool = False) -> list[str]:
    """Remove what dead sessions of this user left; never what belongs to a living one.

    Parameters
    ----------
    all : bool
        Also what no lease speaks of, such as after its file was lost.

    Returns
    -------
    list of str
        What was removed, in words.

    Raises
    ------
    PlatformError
        If something could not be removed; everything else was.
    """
    remnants = found()
    # Read after the remnants: whatever was found has had its lease before.
    living = leases.sessions()
    dead = [one for one in remnants if _is_dead(one, living, all)]
    removed = _remove(dead)
    for name, lives in living.items():
        if not lives:
            leases.forget(name)
    return removed


def found() -> list[Remnant]:
    """Return everything on this machine that tare made for this user, in order of removal."""
    units = [*registry.scan("loads").values(), *registry.scan("platforms").values()]
    of_units = [one for unit in units for one in unit.remnants()]
    return [*_processes(), *of_units, *_groups(), *_files()]


def _is_dead(remnant: Remnant, living: dict[str, bool], all_: bool) -> bool:
    session = leases.session_of(remnant.name)
    return session is not None and not living.get(session, not all_)


def _remove(remnants: list[Remnant]) -> list[str]:
    removed: list[str] = []
    failed: list[str] = []
    for one in remnants:
        try:
            one.remove()
            removed.append(one.what)
        except (OSError, PlatformError) as error:
            failed.append(f"{one.what}: {error}")
    if failed:
        raise PlatformError(f"could not be removed: {'; '.join(failed)}", "sudo tare cleanup")
    return removed


def _processes() -> list[Remnant]:
    return [
        Remnant(p.name, f"process {p.pid} ({Path(p.argv[0]).name})", partial(processes.kill, p))
        for p in processes.named()
        if p.user == os.geteuid()
    ]


def _files() -> list[Remnant]:
    return [
        Remnant(path.name, f"directory {path}", partial(shutil.rmtree, path))
        for folder in FOLDERS
        for path in folder.glob("tare-*")
        if path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()
    ]


def _groups() -> list[Remnant]:
    """Control groups, deepest first."""
    groups = [
        Path(folder) / name
        for mount in _hierarchies()
        for folder, names, _ in os.walk(mount)
        for name in names
        if name.startswith("tare-")
    ]
    return [
        Remnant(path.name, f"control group {path}", partial(_remove_group, path))
        for path in sorted(groups, key=lambda p: len(p.parts), reverse=True)
        if path.stat().st_uid == os.geteuid()
    ]


def _hierarchies() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    fields = [line.split() for line in lines]
    return [field[1] for field in fields if field[2] in ("cgroup", "cgroup2")]


def _remove_group(group: Path) -> None:
    """Kill what is in a group and below it, then remove them, deepest first."""
    if not group.exists():
        return
    below = sorted((Path(folder) for folder, _, _ in os.walk(group)), reverse=True)
    deadline = time.monotonic() + 5
    for path in below:
        while True:
            _kill_members(path)
            try:
                path.rmdir()
                break
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
                os.kill(int(pid), 9)
