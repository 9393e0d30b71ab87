"""Networks that killed sessions left: hosts' namespaces with what still runs in them, and shaping.

What was shaped of this machine itself is in a note beside the lease, which the agent wrote before
it changed anything (``agent/network/emulation/src/taken.rs``). Only what the kernel brings back by
itself is ever replaced, so that to put it back is to remove what is tare's.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import msgspec

from tare.agent import client
from tare.decoding import DecodeError, decode
from tare.errors import PlatformError
from tare.host import lease as leases
from tare.host.lease import Remnant, session_of

#: Where namespaces have their names, as ``ip netns`` has them.
FOLDER = Path("/run/netns")
_PROC = Path("/proc")
_END_S = 2.0
#: <sys/mount.h>
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_RELEASE_S = 20.0


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Which interface a session shapes."""

    interface: str
    boot_id: str
    #: Its network namespace: ``net:[4026531840]``.
    network: str


def found() -> list[Remnant]:
    """Return every network namespace and every shaped interface that bears a name of tare's."""
    return [*_interfaces(), *_namespaces()]


def _interfaces() -> list[Remnant]:
    remnants = []
    for folder in leases.places():
        with contextlib.suppress(OSError):
            for path in sorted(folder.glob("tare-*.interface")):
                # What was cut short was written before anything was changed.
                with contextlib.suppress(OSError, DecodeError):
                    note = decode(path.read_bytes(), Note)
                    what = f"shaping of the interface {note.interface}"
                    remnants.append(Remnant(path.name, what, partial(_release, path, note)))
    return remnants


def _release(path: Path, note: Note) -> None:
    """Take off an interface what is tare's, then forget it; a reboot has done so already."""
    here = str((_PROC / "self" / "ns" / "net").readlink())
    boot_id = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    if note.boot_id == boot_id and note.network == here:
        _take_off(note.interface)
    elif note.boot_id == boot_id and _lives(note.network):
        raise PlatformError(
            f"{note.interface} is in another network namespace ({note.network}, not {here})",
            "run tare cleanup there: sudo ip netns exec NAME tare cleanup, with a NAME of ip "
            "netns list",
        )
    path.unlink()


def _take_off(interface: str) -> None:
    argv = [str(client.binary()), "release", "--interface", interface]
    try:
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=_RELEASE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlatformError(f"cannot give back {interface}: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip().partition("\n")[0].removeprefix("tare-agent: ")
        raise PlatformError(said or f"cannot give back {interface}")


def _lives(network: str) -> bool:
    """Tell whether a network namespace is still there: by its processes or by its name."""
    inode = network.removeprefix("net:[").removesuffix("]")
    with contextlib.suppress(OSError):
        if any(str(path.stat().st_ino) == inode for path in FOLDER.iterdir()):
            return True
    for entry in _PROC.iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str((entry / "ns" / "net").readlink()) == network:
                return True
    return False


def _namespaces() -> list[Remnant]:
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
