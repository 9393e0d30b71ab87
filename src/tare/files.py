"""Files that are written whole or not at all, and those to which one session at a time appends."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import pwd
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from tare.decoding import DecodeError
from tare.errors import InputError, StoreError, Typed

#: As many as the kernel follows.
_MOST_LINKS = 40


def argument(path: Path | str) -> str:
    """Return a path as a command takes it: one that begins with a dash would be an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


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
    with replacing(path, hint) as file:
        file.write(data)


def write_into(folder: int, name: str, data: bytes) -> None:
    """Write a file of a folder that is open, in place of whatever has its name there.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    with _replacement(folder, name) as file:
        file.write(data)


@contextlib.contextmanager
def own_folder(path: Path) -> Iterator[int]:
    """Make a folder unless it is there, and open it: it stays the same one while it is written to.

    Raises
    ------
    OSError
        If it cannot be made or opened.
    StoreError
        If it is a link of another user, or a folder of one where everybody can make folders.
    """
    real = target(path)
    real.mkdir(parents=True, exist_ok=True)
    with _opened(real, os.O_NOFOLLOW) as folder:
        owner = os.fstat(folder).st_uid
        if owner not in (0, os.geteuid()) and real.absolute().parent.stat().st_mode & stat.S_ISVTX:
            raise StoreError(
                f"cannot write {path}: it is a folder that {_name(owner)} made",
                "remove it, or choose another folder",
            )
        yield folder


@contextlib.contextmanager
def _opened(folder: Path, flags: int = 0) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(path: Path, hint: str) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of what is at a path, once it is whole.

    A link is replaced, except for those of /dev; :func:`target` follows others. A device or a pipe
    is written to and not replaced; without a reader, a pipe is an error.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    path = _device(path)
    try:
        with contextlib.ExitStack() as stack:
            if _is_stream(path):
                yield stack.enter_context(_open_stream(path))
            else:
                # A path could lead to another folder by the time of the rename; this cannot.
                folder = stack.enter_context(_opened(path.parent))
                yield stack.enter_context(_replacement(folder, path.name))
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint) from error


def _device(path: Path) -> Path:
    """Return where a link of /dev leads, such as that of standard output."""
    return target(path) if path.is_relative_to("/dev") else path


def target(path: Path) -> Path:
    """Return where the links at a path lead that a person named.

    Raises
    ------
    StoreError
        If one belongs to another user than this one and root.
    """
    for _ in range(_MOST_LINKS):
        if path.is_relative_to("/proc") or not path.is_symlink():
            return path
        owner = path.lstat().st_uid
        if owner not in (0, os.geteuid()):
            raise StoreError(
                f"cannot write {path}: it is a link that {_name(owner)} made",
                "remove it, or choose another file",
            )
        path = path.parent / path.readlink()
    raise StoreError(f"cannot write {path}: its links have no end", "choose another file")


def _is_stream(path: Path) -> bool:
    """Tell whether a path is written to in place: a device, a pipe, or an open file in /proc."""
    try:
        mode = path.lstat().st_mode
        return path.is_relative_to("/proc") or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))
    except FileNotFoundError:
        return False


def _open_stream(path: Path) -> BinaryIO:
    links = 0 if path.is_relative_to("/proc") else os.O_NOFOLLOW
    there = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | links)
    os.set_blocking(there, True)
    return os.fdopen(there, "wb")


@contextlib.contextmanager
def _replacement(folder: int, name: str, *, at_once: bool = False) -> Iterator[BinaryIO]:
    """Make a new file in an open folder, and rename it when it is whole or has begun."""
    fresh = f".{name[:100]}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(fresh, flags, 0o666, dir_fd=folder), "wb")
        if at_once:
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
            yield file
            return
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        raise


def open_log(path: Path, hint: str) -> BinaryIO:
    """Open a file that grows, in place of what was there, as :func:`replacing` does.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    path = target(path)
    try:
        if _is_stream(path):
            return _open_stream(path)
        with _opened(path.parent) as folder, _replacement(folder, path.name, at_once=True) as file:
            return file
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


def read_input(path: Path, most_bytes: int, hint: str) -> bytes:
    """Read a file that the user named, which may come from elsewhere.

    Raises
    ------
    InputError
        If it is no regular file, cannot be read, or is larger than ``most_bytes``.
    """
    try:
        with open_plain(path, links=True) as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint) from error
    if len(content) > most_bytes:
        raise InputError(f"{path} is larger than {most_bytes >> 20} MiB", hint)
    return content


def read_own(path: Path, most_bytes: int, what: str, hint: str) -> bytes:
    """Read a file that tare wrote, perhaps on another machine.

    Parameters
    ----------
    path : Path
    most_bytes : int
        Size above which it is none.
    what : str
        What errors call it: "the calibration".
    hint : str
        What to type where it cannot be read.

    Raises
    ------
    StoreError
        If it cannot be read.
    DecodeError
        If it is larger than ``most_bytes``.
    """
    try:
        with open_plain(path, links=True) as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise StoreError(f"cannot read {what} {path}: {error.strerror}", hint) from error
    if len(content) > most_bytes:
        raise DecodeError(f"it is larger than {most_bytes >> 20} MiB")
    return content


def is_file(word: str) -> bool:
    """Return whether an argument names an existing file; one too long for a name does not."""
    return _is_there(Path(word).is_file)


def is_folder(word: str) -> bool:
    """Return whether an argument names an existing folder."""
    return _is_there(Path(word).is_dir)


def _is_there(look: Callable[[], bool]) -> bool:
    try:
        return look()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


@contextlib.contextmanager
def rights_of(uid: int, gid: int) -> Iterator[None]:
    """Open files with the rights of a user, in this thread: unlike a look before, this has no race.

    Supplementary groups stay root's, so what is opened is to be looked at by :func:`allows`.
    """
    libc = ctypes.CDLL(None)
    # Both return what was set before; while the user is not root, no right of root's is left.
    group, user = libc.setfsgid(gid), libc.setfsuid(uid)
    try:
        yield
    finally:
        libc.setfsuid(user)
        libc.setfsgid(group)


def allows(about: os.stat_result, right: int, uid: int, groups: Iterable[int]) -> bool:
    """Tell by its owner and mode whether a user has a right to a file: 4, 2 or 1 as in a mode."""
    if about.st_uid == uid:
        return bool(about.st_mode >> 6 & right)
    return bool(about.st_mode >> (3 if about.st_gid in set(groups) else 0) & right)


def can_read(path: Path, uid: int, groups: Iterable[int]) -> bool:
    """Tell by owners and modes whether a user can read a file, wherever links lead.

    Parameters
    ----------
    path : Path
        Of a file that is there.
    uid : int
        Of the user.
    groups : iterable of int
        All of the user's groups.
    """
    real, known = Path(os.path.realpath(path)), set(groups)
    if uid == 0:
        return True
    return allows(real.stat(), 4, uid, known) and all(
        allows(folder.stat(), 1, uid, known) for folder in real.parents
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that may be linked to, hexadecimal; raises OSError."""
    with open_plain(path, links=True) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_owner(folder: Path) -> None:
    """As root, refuse a folder of another user, and a link of another user to a folder.

    Raises
    ------
    StoreError
        If it belongs to somebody who is neither root nor called sudo.
    """
    if os.geteuid() != 0:
        return
    for about in (folder.lstat, folder.stat):
        try:
            owner = about().st_uid
        except OSError:
            return  # Opening it gives the reason.
        if owner in (0, os.getuid()) or str(owner) == os.environ.get("SUDO_UID"):
            continue
        name = _name(owner)
        raise StoreError(
            f"{folder} belongs to {name}, who could change it while root works in it",
            f"the same as {name}; or a copy: cp -r --no-preserve=ownership {folder} COPY",
        )


def _name(user: int) -> str:
    """Return a user's name, or the number of one without."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


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
            Typed("--resume   (when that one has ended; or choose another --out)"),
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
