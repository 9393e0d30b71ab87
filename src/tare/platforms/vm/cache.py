"""What starts of virtual machines leave for the next: images by their content, of bounded size."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tare.errors import PlatformError, Typed
from tare.host.cache import Kept, excess, folder

#: Of all images together; the longest unused ones go first.
MOST_BYTES = 2 << 30

#: Instances start side by side, and want the same image.
_making = threading.Lock()


def image(kind: str, identity: bytes, make: Callable[[Path], None]) -> tuple[BinaryIO, bool]:
    """Return an image, open, which is made if there is none of this identity.

    Parameters
    ----------
    kind : str
        What its name ends with: ``cpio``.
    identity : bytes
        Of everything that decides what is in it.
    make : callable
        Writes it to the path that it is given.

    Returns
    -------
    file, bool
        The image, and whether it had to be made.

    Raises
    ------
    PlatformError
        If it cannot be written: no space, no right.
    """
    images = folder() / "images"
    path = images / f"{hashlib.sha256(identity).hexdigest()[:32]}.{kind}"
    with _making:
        # One that cannot be read cannot be written either, and that is told below.
        with contextlib.suppress(OSError):
            file = path.open("rb")
            with contextlib.suppress(OSError):
                os.utime(path)
            return file, False
        try:
            images.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _made(path, make), True
        except OSError as error:
            raise PlatformError(
                f"an image for the virtual machine cannot be written to {images}: {error.strerror}",
                Typed(
                    f"df -h {shlex.quote(str(images))}   "
                    "(and make room there, or set XDG_CACHE_HOME)"
                ),
            ) from error


def _made(path: Path, make: Callable[[Path], None]) -> BinaryIO:
    """Make an image that appears under its name when it is whole."""
    sweep(path.parent)
    fresh = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        make(fresh)
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)
    file = path.open("rb")
    _shrink(path.parent, path)
    return file


def sweep(images: Path) -> None:
    """Remove what processes left half made that were killed, ``.PID.NAME``."""
    for path in images.glob(".*.*"):
        pid = path.name.split(".")[1]
        if pid.isdecimal() and (int(pid) == os.getpid() or not Path(f"/proc/{pid}").exists()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _shrink(images: Path, kept: Path) -> None:
    """Remove images until the rest is small enough; whoever has one open keeps it."""
    # What begins with a point is being made.
    whole = (path for path in images.glob("[!.]*") if path != kept)
    found = ((path, path.stat()) for path in whole)
    others = [Kept(path, about.st_size, about.st_mtime_ns) for path, about in found]
    for path in excess(others, MOST_BYTES - kept.stat().st_size):
        path.unlink(missing_ok=True)
