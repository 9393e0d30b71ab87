"""The folder of a session in memory: what instances are shown of it, and what they are not."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tare.errors import PlatformError, room

MEMORY = Path("/dev/shm")


@contextlib.contextmanager
def made(
    name: str,
    parent: Path | None = None,
    *,
    writable: bool = False,
) -> Iterator[Path]:
    """Make a session's folder, and remove it at the end.

    Nobody but this user can make or list anything in it; who knows what is there may go through, as
    users of sandboxes must. Beside what instances are shown, each has a folder of its own in it for
    what its layers make (``Place.scratch``).

    Parameters
    ----------
    name : str
        Of the session.
    parent : Path, optional
        Where it is made, other than in memory.
    writable : bool
        Whether agents inside, whoever they are there, make files in what they are shown.

    Yields
    ------
    Path
        What instances are shown: ``Place.shared``.

    Raises
    ------
    PlatformError
        If it cannot be made, or there is something of its name.
    """
    parent = parent or MEMORY
    own = parent / name
    try:
        _make(own, 0o711)
        shared = own / "shared"
        _make(shared, 0o777 if writable else 0o755)
    except OSError as error:
        with contextlib.suppress(OSError):
            own.rmdir()
        raise PlatformError(
            f"cannot make the session's folder {own}: {error.strerror}",
            room(parent),
        ) from error
    try:
        yield shared
    finally:
        shutil.rmtree(own, ignore_errors=True)


@contextlib.contextmanager
def on_disk(parent: str, name: str) -> Iterator[str]:
    """Make the folder of an instance on a disk, and remove it at the end.

    Whoever runs in the instance may write to it. Other users cannot list the folder that it is in,
    and so do not find it.

    Parameters
    ----------
    parent : str
        Folder in which :func:`tare.experiment.remnants.cleanup` finds what a killed session leaves.
    name : str
        Of the instance.
    """
    with contextlib.ExitStack() as made:
        try:
            own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
            made.callback(shutil.rmtree, own, ignore_errors=True)
            inside = Path(tempfile.mkdtemp(dir=own))
            inside.chmod(0o1777)
            own.chmod(0o711)
        except OSError as error:
            raise PlatformError(
                f"cannot make a folder in {parent} for {name}: {error.strerror}",
                room(parent),
            ) from error
        yield str(inside)


def _make(folder: Path, mode: int) -> None:
    """Make a directory with a mode that no mask changes."""
    folder.mkdir(mode=0o700)
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(file).st_uid != os.geteuid():
            raise PermissionError(1, "it belongs to somebody else already")
        os.fchmod(file, mode)
    finally:
        os.close(file)


@contextlib.contextmanager
def scratch(path: str) -> Iterator[None]:
    """Make the folder of an instance's layers, and remove it at the end."""
    folder = Path(path)
    try:
        _make(folder, 0o711)
    except OSError as error:
        raise PlatformError(
            f"cannot make the instance's folder {folder}: {error.strerror}",
            # The session's folder is gone when this is read.
            room(folder.parents[1]),
        ) from error
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
