"""Files that are written whole or not at all, and those to which one session at a time appends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import pwd
import stat
from io import BufferedReader
from pathlib import Path

from tare.errors import StoreError


def write(path: Path, data: bytes, hint: str) -> None:
    """Write a file; what stood there before stays until the new one is whole.

    Parameters
    ----------
    path : Path
        Where it is to stand.
    data : bytes
        All of it.
    hint : str
        What to do where that cannot be.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    if path.exists() and not path.is_file():
        # A device or a pipe is written to, not replaced; but no pipe that nobody reads is waited
        # for.
        try:
            there = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.set_blocking(there, True)
            with os.fdopen(there, "wb") as opened:
                opened.write(data)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}", hint) from error
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            # Of a process of the same number that was killed.
            fresh.unlink(missing_ok=True)
            # Follows no link that somebody laid where all may write.
            with fresh.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint) from error


def open_plain(path: Path, *, links: bool = False) -> BufferedReader:
    """Open a file of a folder that others may have filled: no pipe, no device, no unwanted link.

    Raises
    ------
    OSError
        If it is none, or cannot be read.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags if links else flags | os.O_NOFOLLOW), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no plain file")
    return file


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that may be linked to, hexadecimal; raises OSError."""
    with open_plain(path, links=True) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_owner(folder: Path) -> None:
    """Look, as root, that nobody else can change a folder under root's hands.

    Raises
    ------
    StoreError
        If it belongs to somebody who is neither root nor called sudo.
    """
    if os.geteuid() != 0:
        return
    try:
        owner = folder.stat().st_uid
    except OSError:
        return  # whoever opens it says why it cannot be had
    if owner in (0, os.getuid()) or str(owner) == os.environ.get("SUDO_UID"):
        return
    name = str(owner)
    with contextlib.suppress(KeyError):
        name = pwd.getpwuid(owner).pw_name
    raise StoreError(
        f"{folder} belongs to {name}, who could change it while root works in it",
        f"the same as {name}; or a copy: cp -r --no-preserve=ownership {folder} COPY",
    )


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; a file that was synced may have none otherwise."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, folder: Path) -> bool:
    """Keep other sessions from writing to a folder, until a descriptor in it is closed.

    The kernel lets go of the lock however the process ends.

    Parameters
    ----------
    descriptor : int
        Of the folder, or of a file in it that all sessions write to.
    folder : Path
        As its user named it.

    Returns
    -------
    bool
        False where the file system has no locks for such a descriptor.

    Raises
    ------
    StoreError
        If another session holds it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another tare is measuring into {folder}, so nothing was measured",
            "the same command with --resume when that one has ended, or choose another --out",
        ) from None
    except OSError:
        return False
    return True


def check_there(descriptor: int, path: Path) -> None:
    """Look that an open file is still the one at its path.

    Raises
    ------
    StoreError
        If it was removed, moved or replaced: what is written to it is lost.
    """
    try:
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return
    except FileNotFoundError:
        pass
    raise StoreError(
        f"{path} was removed or replaced while it was written, so that nothing more can be kept",
        "the same command anew; or, if its folder was moved, with --resume and --out where it is "
        "now",
    )
