"""Processes of tare's on this machine, recognised by the name on their command lines."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError
from tare.host.lease import session_of

PROC = Path("/proc")
#: How long a process may take to end of SIGKILL.
END_S = 5.0

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


class Share(NamedTuple):
    """What some processes have used until now, and what they hold."""

    #: Of CPU time, children that ended included.
    cpu_ns: int
    memory_bytes: int


class Weight(NamedTuple):
    """What an instance of a platform takes on this machine."""

    #: What is around the agent, from what the layers started to the agent's parent; where the
    #: agent is not seen from here, as one in a guest, it is in it.
    around: Share
    #: The agent and its workers; None: this kernel does not show them.
    agent: Share | None


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
    agents = {
        p.pid: p
        for p in named()
        if p.name == name and p.argv[1] == "serve" and not _is_others(p.user)
    }
    # Its spawners are forks of it, with the same arguments.
    eldest = [pid for pid, process in agents.items() if process.parent not in agents]
    return eldest[0] if len(eldest) == 1 else None


def _is_others(user: int) -> bool:
    """Tell whether a user is somebody else of this machine, who may call a process as they like.

    Users of sandboxes, as those of boxes and of user namespaces, are nobody whom it knows.
    """
    if user in (0, os.geteuid()) or str(user) == os.environ.get("SUDO_UID"):
        return False
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _owner(pid: int) -> int:
    try:
        return _user(PROC / str(pid))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0  # it has ended meanwhile, and weighs nothing


def weight(name: str) -> Weight | None:
    """Return what the processes of an instance take on this machine; None: none are seen.

    Parameters
    ----------
    name : str
        Of the instance: ``tare-1a2b3c-0``.

    Notes
    -----
    Around the agent are the processes that have its name among their arguments, what they started,
    and the agent's ancestors with theirs, as an engine's shim, as far as they are younger than this
    process: what is older, such as the engine, is there without the instance.
    """
    parents, started = _family()
    inner = agent(name)
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?!\d)")
    roots = {
        pid
        for pid in parents
        if word.search(_read(PROC / str(pid) / "cmdline")) and not _is_others(_owner(pid))
    }
    own, outer = os.getpid(), parents.get(inner or 0)
    # What this process itself was started by may be as young as it is.
    while outer != own and outer in parents and started[outer] >= started[own]:
        roots.add(outer)
        outer = parents[outer]
    of_agent = set() if inner is None else _below(parents, {inner})
    around = _below(parents, roots - {own}) - of_agent
    if not around and not of_agent:
        return None
    return Weight(_share(around), _share(of_agent) if of_agent else None)


def _family() -> tuple[dict[int, int], dict[int, int]]:
    """Return the parent of every process, and when each was started."""
    parents, started = {}, {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)], started[int(entry.name)] = _stat(entry)
    return parents, started


def _below(parents: dict[int, int], roots: set[int]) -> set[int]:
    """Return processes with all that descends from them, but not this one."""
    found, own = set(roots), {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found - own:
        found |= more
    return found


def _share(pids: Iterable[int]) -> Share:
    cpu_ns = memory_bytes = 0
    for pid in pids:
        cpu_ns += _cpu_ns(pid)
        memory_bytes += _memory_bytes(pid)
    return Share(cpu_ns, memory_bytes)


def _cpu_ns(pid: int) -> int:
    """Return a process's CPU time: threads that ended are in ticks, those that live are exact."""
    fields = _read(PROC / str(pid) / "stat").rpartition(")")[2].split()
    if len(fields) < 15:
        return 0  # it has ended meanwhile
    own, children = (int(fields[i]) + int(fields[i + 1]) for i in (11, 13))
    tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
    threads = (PROC / str(pid) / "task").glob("*/schedstat")
    exact = sum(int((_read(one).split() or ["0"])[0]) for one in threads)
    return max(own * tick_ns, exact) + children * tick_ns


def _memory_bytes(pid: int) -> int:
    """Return a process's part of the memory, where it may be asked; otherwise what is resident."""
    rollup = _read(PROC / str(pid) / "smaps_rollup").splitlines()
    kib = next((line.split()[1] for line in rollup if line.startswith("Pss:")), None)
    if kib is not None:
        return int(kib) << 10
    pages = _read(PROC / str(pid) / "statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if pages else 0


def children(pid: int, ran_ns: int = 0) -> int:
    """Return how many children a process has that have not ended.

    ``ran_ns``: only those that have had a CPU for so long, where the kernel counts that.
    """
    count = 0
    for child in _read(PROC / str(pid) / "task" / str(pid) / "children").split():
        fields = _read(PROC / child / "stat").rpartition(")")[2].split()
        ran = _read(PROC / child / "schedstat").split()
        alive = bool(fields) and fields[0] not in "ZX"
        count += alive and (not ran or int(ran[0]) >= ran_ns)
    return count


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has begun, and those that they have, nearest first."""
    found = [int(c) for c in _read(PROC / str(pid) / "task" / str(pid) / "children").split()]
    return [*found, *(below for child in found for below in descendants(child))]


def launched(pid: int, changes: int) -> list[int]:
    """Return the nearest descendants that are so many changes of program away from a process."""
    found = []
    for child in map(int, _read(PROC / str(pid) / "task" / str(pid) / "children").split()):
        left = changes - (_program(child) != _program(pid))
        found += launched(child, left) if left else [child]
    return found


def _program(pid: int) -> tuple[int, int] | None:
    """Return the device and inode of a process's program; None: it has ended, or is hidden."""
    try:
        found = (PROC / str(pid) / "exe").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_stopped(pid: int) -> bool:
    """Tell whether a process stands still because of a signal."""
    return _state(pid) == "T"


def kill_family(pid: int) -> None:
    """End a child of this process with all that descends from it, unless it is another user's."""
    family: set[int] = set()
    # One that runs begins others while they are counted.
    while more := {pid, *descendants(pid)} - family:
        family |= more
        _signalled(more, signal.SIGSTOP, "TZX")
    _signalled(family, signal.SIGKILL, "ZX")


def _signalled(pids: Iterable[int], number: int, states: str) -> None:
    """Send a signal and wait until it has led to one of these states, or to the end."""
    reached = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            reached.append(pid)
    until = time.monotonic() + END_S
    while any(_state(pid) not in states for pid in reached) and time.monotonic() < until:
        time.sleep(0.001)


def kill(process: Process) -> None:
    """End a process that was seen before, unless it has ended, and return when it is gone.

    Raises
    ------
    PlatformError
        If it does not end, as one that waits for a disk in the kernel, or may not be ended.
    """
    try:
        pidfd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if _stat(PROC / str(process.pid))[1] == process.started:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            _let_die(process)
            _await_end(pidfd, process)
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return  # it has ended meanwhile
    finally:
        os.close(pidfd)


def _let_die(process: Process) -> None:
    """Give a process that only runs where nobody else wants to the time that dying takes."""
    with contextlib.suppress(OSError):
        if os.sched_getscheduler(process.pid) in (os.SCHED_IDLE, os.SCHED_BATCH):
            os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))


def _await_end(pidfd: int, process: Process) -> None:
    """Wait for a process: a signal is sent long before a busy machine lets it die of it."""
    ended = select.poll()
    ended.register(pidfd, select.POLLIN)
    if not ended.poll(END_S * 1000):
        raise PlatformError(f"process {process.pid} has not ended {END_S:g} s after SIGKILL")


def _state(pid: int) -> str:
    """Return the letter of a process's state, or nothing where it is gone."""
    return (_read(PROC / str(pid) / "stat").rpartition(")")[2].split() or [""])[0]


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
