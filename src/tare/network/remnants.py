"""Networks that killed sessions left: their hosts' namespaces, and what still runs in them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from functools import partial
from pathlib import Path

from tare.errors import PlatformError
from tare.lease import Remnant, session_of

#: Where namespaces have their names, as ``ip netns`` has them.
FOLDER = Path("/run/netns")
_PROC = Path("/proc")
_END_S = 2.0
#: <sys/mount.h>
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8


def found() -> list[Remnant]:
    """Return every network namespace that bears a name of tare's."""
    if os.geteuid() != 0:
        # An ordinary user's network has no names, and goes with the agent that holds it.
        return []
    with contextlib.suppress(OSError):
        return [
            Remnant(path.name, f"network namespace {path.name}", partial(remove, path))
            for path in sorted(FOLDER.iterdir())
            if session_of(path.name) is not None
        ]
    return []


def remove(path: Path) -> None:
    """End what runs in a network namespace, and remove it; its cables go with it.

    Raises
    ------
    PlatformError
        If it cannot be removed.
    """
    _end_processes(path)
    libc = ctypes.CDLL(None, use_errno=True)
    # That it is not mounted is as good: then the file alone is left.
    libc.umount2(os.fsencode(path), _MNT_DETACH | _UMOUNT_NOFOLLOW)
    try:
        path.unlink()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PlatformError(f"cannot remove {path}: {error.strerror}") from error


def _end_processes(path: Path) -> None:
    deadline = time.monotonic() + _END_S
    while (pids := _inside(path)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _inside(path: Path) -> list[int]:
    """Return the processes of a namespace; none where the file is no namespace any more."""
    try:
        own, here = path.stat(), (_PROC / "self" / "ns" / "net").stat()
    except OSError:
        return []
    if (own.st_dev, own.st_ino) == (here.st_dev, here.st_ino):
        return []
    inside = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            about = (entry / "ns" / "net").stat()
            state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            if (about.st_dev, about.st_ino) == (own.st_dev, own.st_ino) and state not in "ZX":
                inside.append(int(entry.name))
    return inside
