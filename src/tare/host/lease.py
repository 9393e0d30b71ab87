"""Leases: which sessions live, so that what dead ones left can be told from theirs.

Everything that tare makes on a machine begins with the name of its session. While the session
lives it holds a lock on a file of that name; the kernel lets go of the lock however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import PlatformError, Typed, room
from tare.results.message import Said

_NAME = re.compile(r"tare-[0-9a-f]{6}(?=-|\.|$)")


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What the file of a session says, for a person who finds it."""

    name: str
    pid: int
    boot_id: str
    #: Seconds since 1970.
    since: float
    #: Where else than in the usual places it makes directories of its name.
    folders: tuple[str, ...] = ()


class InUseError(Exception):
    """Raised where a remnant is not removed because another user's session uses it."""


@dataclass(frozen=True)
class Remnant:
    """Something on the machine that tare made."""

    #: Begins with the name of the session that made it; otherwise all sessions share it.
    name: str
    #: What it is: "container 1f2e3d".
    what: Said
    #: Raises `FileNotFoundError` if it is gone already, `InUseError` if it must stay.
    remove: Callable[[], None]


def new_name() -> str:
    """Return a name for a session that no other of this user has: ``tare-1a2b3c``."""
    taken = {path.stem for path in _files()}
    while (name := f"tare-{secrets.token_hex(3)}") in taken:
        pass
    return name


def session_of(name: str) -> str | None:
    """Return the session that a thing belongs to by its name; None: it is not tare's."""
    found = _NAME.match(name)
    return found.group() if found else None


@contextlib.contextmanager
def hold(name: str, folders: Iterable[Path] = ()) -> Iterator[Lease]:
    """Hold the lease of a session: nothing of it is cleaned away meanwhile.

    Parameters
    ----------
    name : str
        From :func:`new_name`.
    folders : iterable of Path
        Where else than in the usual places it makes directories of its name.

    Yields
    ------
    Lease
        What the file says.

    Raises
    ------
    PlatformError
        If there is no directory to keep it in.
    """
    assert session_of(name) == name, name
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lease = Lease(
        name=name,
        pid=os.getpid(),
        boot_id=boot_id,
        since=time.time(),
        folders=tuple(str(folder.absolute()) for folder in folders),
    )
    folder = writable()
    # It appears under its name only when it is locked: a file without a lock is a dead session.
    path, raw = folder / f"{name}.lease", folder / f".{name}"
    with _noted(path, raw, msgspec.json.encode(lease)):
        yield lease
        # After an exception it stays, as that of a dead session, until its remnants are removed.
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _noted(path: Path, raw: Path, text: bytes) -> Iterator[None]:
    """Write a lease, and hold its lock."""
    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(raw.open("xb", buffering=0))
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(text)
            raw.rename(path)
        except OSError as error:
            raw.unlink(missing_ok=True)
            raise PlatformError(
                f"what this session makes cannot be noted in {path.parent}: {error.strerror}; "
                "nothing was started or changed",
                room(path.parent),
            ) from error
        yield


def sessions() -> dict[str, bool]:
    """Return every session of this user that has a lease, and whether it lives."""
    return {path.stem: _locked(path) for path in _files()}


def folders() -> set[Path]:
    """Return where sessions of this user, living or dead, say that they made directories."""
    found: set[Path] = set()
    for path in _files():
        # One that was cut short, or another version wrote, names none.
        with contextlib.suppress(OSError, DecodeError), files.open_plain(path) as file:
            found |= {Path(one) for one in decode(file.read(), Lease).folders}
    return found


def forget(name: str) -> None:
    """Remove the lease of a dead session."""
    for path in _files():
        if path.stem == name and not _locked(path):
            path.unlink(missing_ok=True)


def places() -> list[Path]:
    """Return where leases of this user are, best first.

    What they say is acted on: a folder that someone else made, or may write to, says nothing.
    """
    return [folder for folder in _folders() if _is_only_ours(folder)]


def _files() -> list[Path]:
    found: list[Path] = []
    for folder in places():
        # A home that this user may not look into holds nothing of his.
        with contextlib.suppress(OSError):
            found += folder.glob("tare-*.lease")
    return found


def _locked(path: Path) -> bool:
    try:
        with files.open_plain(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _folders() -> list[Path]:
    """Return where leases of this user can be, best first: a login may lack XDG_RUNTIME_DIR."""
    if os.geteuid() == 0:
        return [Path("/run/tare")]
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    # A service's user may have no home either.
    last = Path("/tmp") / f"tare-of-{os.geteuid()}"
    return [*dict.fromkeys(Path(folder) / "tare" for folder in (runtime, state)), last]


def writable() -> Path:
    """Return where this session's lease is kept; raises PlatformError where it cannot be."""
    for folder in _folders():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK) and _is_only_ours(folder):
                return folder
    tried = " and ".join(map(str, _folders()))
    raise PlatformError(
        f"no place to note what this session makes: {tried} cannot be written",
        Typed("sudo mount -t tmpfs tmpfs /run/tare")
        if os.geteuid() == 0
        else Typed("export XDG_RUNTIME_DIR=$(mktemp -d)"),
    )


def _is_only_ours(folder: Path) -> bool:
    try:
        # A link that another user makes in /tmp could lead to any folder of this user.
        about = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022
    )
