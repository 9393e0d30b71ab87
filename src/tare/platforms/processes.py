"""Processes of tare's on this machine, recognised by the name on their command lines."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tare.lease import session_of

PROC = Path("/proc")

#: The word before a name on the command lines of agents, their workers, and what is around them.
NAME = "--name"


class Process(NamedTuple):
    """A process that has a name of tare's among its arguments."""

    pid: int
    parent: int
    #: Clock ticks from boot to its start; with the pid an identity.
    started: int
    argv: tuple[str, ...]
    user: int
    #: What it belongs to, e.g. ``tare-1a2b3c-0``.
    name: str


def named(option: str = NAME) -> Iterator[Process]:
    """Yield every process with a name of tare's after an option on its command line."""
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            argv = tuple((entry / "cmdline").read_text(errors="replace").split("\0")[:-1])
            if (name := _name(argv, option)) is None:
                continue
            parent, started = _stat(entry)
            user = _user(entry)
        except (OSError, ValueError, IndexError, StopIteration):
            continue  # it has ended meanwhile, or is another user's
        yield Process(int(entry.name), parent, started, argv, user, name)


def agent(name: str) -> int | None:
    """Return the pid of the agent of an instance, or None where this kernel does not show it."""
    agents = {p.pid: p for p in named() if p.name == name and p.argv[1] == "serve"}
    # Its spawners are forks of it, with the same arguments.
    eldest = [pid for pid, process in agents.items() if process.parent not in agents]
    return eldest[0] if len(eldest) == 1 else None


def children(pid: int) -> int:
    """Return how many children a process has that have not ended."""
    count = 0
    for child in _read(PROC / str(pid) / "task" / str(pid) / "children").split():
        fields = _read(PROC / child / "stat").rpartition(")")[2].split()
        count += bool(fields) and fields[0] not in "ZX"
    return count


def kill(process: Process) -> None:
    """End a process that was seen before, unless it has ended."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        if _stat(PROC / str(process.pid))[1] == process.started:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except (OSError, IndexError):
        return  # it has ended meanwhile
    finally:
        os.close(pidfd)


def _name(argv: tuple[str, ...], option: str) -> str | None:
    for word, value in itertools.pairwise(argv):
        name = value.rpartition("/")[2]
        if word == option and session_of(name) is not None:
            return name
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _user(entry: Path) -> int:
    """Return the real user; the owner of the files is root for a program with capabilities."""
    lines = (entry / "status").read_text(errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))


def _stat(entry: Path) -> tuple[int, int]:
    """Return parent and start time; the name before them may hold anything, brackets too."""
    fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return int(fields[1]), int(fields[19])
