"""Images and layers that were made: directories by what decides their content, of bounded size.

An entry is a directory with a lock file next to it. Whoever uses it holds a shared lock, whoever
makes or removes it an exclusive one; the kernel lets go of either however a process ends. It is
made under another name, so that what has its name is whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from tare.applications.image import tree
from tare.applications.image.lock import Package
from tare.applications.image.running import remove
from tare.decoding import DecodeError, decode
from tare.errors import PlatformError, Typed
from tare.host import cache
from tare.host.cache import Kept
from tare.host.lease import Remnant

#: Of all images and layers together; the longest unused ones go first.
MOST_BYTES = 16 << 30
#: Changes with what is made of the same description.
FORMAT = 3
CONTENT, ABOUT, LOCK, UNFINISHED = "content", "about.json", ".lock", ".new"


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an entry."""

    #: Of its content.
    digest: str
    size_bytes: int
    #: Of names, sizes and times, by which it is seen that nobody has changed it.
    stamp: str
    packages: tuple[Package, ...] = ()


@dataclass
class Entry:
    """A directory that nobody removes until it is closed, or this process ends."""

    path: Path
    about: About
    _lock: int | None

    def close(self) -> None:
        """Let it go; may be called twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def folder() -> Path:
    """Return where they are: root's home is closed to those who are to read them."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CACHE_HOME"):
        return Path("/var/cache/tare/applications")
    return cache.folder() / "applications"


def key(*decides: object) -> str:
    """Return the name of what is decided by these values."""
    return hashlib.sha256(msgspec.json.encode((FORMAT, os.uname().machine, decides))).hexdigest()


def look(name: str) -> Entry | None:
    """Return an entry where it is there, held."""
    if not (folder() / name).is_dir():
        return None
    _check_folder()
    lock = _locked(name, fcntl.LOCK_SH)
    try:
        about = decode((folder() / name / ABOUT).read_bytes(), About)
    except (OSError, DecodeError):
        os.close(lock)
        return None
    os.utime(lock)
    return Entry(folder() / name / CONTENT, about, lock)


def entry(
    name: str, make: Callable[[Path], tuple[Package, ...]], wait: Callable[[], None]
) -> tuple[Entry, bool]:
    """Return an entry, held, and whether it had to be made.

    Parameters
    ----------
    name : str
        From :func:`key`.
    make : callable
        Fills the directory that it is given, and returns the packages in it.
    wait : callable
        Called before waiting for another process that makes it.

    Raises
    ------
    PlatformError
        If it cannot be written, and whatever ``make`` raises.
    """
    made = False
    while (found := look(name)) is None:
        made = _make(name, make, wait) or made
    if tree.stamp(found.path) != found.about.stamp:
        found.close()
        raise PlatformError(
            f"files of an application were changed since they were made, in {found.path}: as root "
            "on the bare machine, a program can do so",
            Typed(f"rm -r {shlex.quote(str(found.path.parent))}   (they are made again)"),
        )
    return found, made


def _make(name: str, make: Callable[[Path], tuple[Package, ...]], wait: Callable[[], None]) -> bool:
    """Make an entry unless another process just did; return whether it was made."""
    try:
        _make_folder()
        try:
            lock = _locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            # Who made it uses it from then on, and holds it as one of several.
            os.close(_locked(name, fcntl.LOCK_SH))
            return False
        try:
            return _make_locked(name, make)
        finally:
            os.close(lock)
    except OSError as error:
        raise PlatformError(
            f"an image cannot be written to {folder()}: {error.strerror}",
            Typed(
                f"df -h {shlex.quote(str(folder().parent))}   "
                "(and make room there, or set XDG_CACHE_HOME)"
            ),
        ) from error


def _make_locked(name: str, make: Callable[[Path], tuple[Package, ...]]) -> bool:
    if _is_whole(folder() / name):
        return False
    # Another version's, or not whole.
    remove(folder() / name)
    for one in _unfinished():
        one.remove()
    fresh = folder() / f"{name}{UNFINISHED}"
    remove(fresh)
    try:
        content = fresh / CONTENT
        for made in (fresh, content):
            made.mkdir()
            made.chmod(0o755)
        packages = make(content)
        about = About(
            digest=tree.digest(content),
            size_bytes=tree.size_bytes(content),
            stamp=tree.stamp(content),
            packages=packages,
        )
        (fresh / ABOUT).write_bytes(msgspec.json.encode(about))
        fresh.rename(folder() / name)
    finally:
        remove(fresh)
    _shrink(name, about.size_bytes)
    return True


def _is_whole(path: Path) -> bool:
    try:
        decode((path / ABOUT).read_bytes(), About)
    except (OSError, DecodeError):
        return False
    return True


def _make_folder() -> None:
    if not folder().is_dir():
        folder().mkdir(parents=True, exist_ok=True)
        folder().chmod(0o755)
    _check_folder()


def _check_folder() -> None:
    """Raise where what is found there could be somebody else's."""
    about = folder().stat()
    if about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise PlatformError(
            f"others may write to {folder()}, or it is another user's",
            "set XDG_CACHE_HOME to a directory of yours",
        )


def _locked(name: str, how: int) -> int:
    """Return a locked descriptor of the lock file that is there, not of one that was removed."""
    path = folder() / f"{name}{LOCK}"
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, how)
            if os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


@contextlib.contextmanager
def _alone(name: str) -> Iterator[bool]:
    """Hold an entry alone, unless it is in use."""
    try:
        lock = _locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        os.close(lock)


def _shrink(kept: str, size_bytes: int) -> None:
    """Remove entries until the rest is small enough, never what is in use."""
    others = []
    for lock in folder().glob(f"*{LOCK}"):
        path = lock.with_suffix("")
        if path.name == kept:
            continue
        try:
            about = decode((path / ABOUT).read_bytes(), About)
            others.append(Kept(path, about.size_bytes, lock.stat().st_mtime_ns))
        except (OSError, DecodeError):
            _discard(path)
    for path in cache.excess(others, MOST_BYTES - size_bytes):
        _discard(path)


def _discard(path: Path) -> None:
    """Remove an entry with its lock file, unless it is in use."""
    with _alone(path.name) as alone:
        if alone:
            # What is half removed does not have its name any more.
            gone = path.with_name(f"{path.name}{UNFINISHED}")
            if path.exists():
                path.rename(gone)
            remove(gone)
            path.with_name(f"{path.name}{LOCK}").unlink()


def _unfinished() -> list[Remnant]:
    """Return what killed processes left half made or half removed."""
    return [
        Remnant(path.name, f"unfinished image {path}", partial(_remove_unfinished, path))
        for path in folder().glob(f"*{UNFINISHED}")
        if not _is_being_made(path)
    ]


def _is_being_made(path: Path) -> bool:
    with _alone(path.stem) as alone:
        return not alone


def _remove_unfinished(path: Path) -> None:
    with _alone(path.stem) as alone:
        if alone:
            remove(path)


def remnants() -> list[Remnant]:
    """Return what killed processes of this user left half made; images that are whole stay."""
    try:
        return _unfinished()
    except (PlatformError, OSError):
        return []  # without a home, or without one that can be read, there is none
