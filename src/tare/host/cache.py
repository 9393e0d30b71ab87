"""What is kept to be faster the next time: ``~/.cache/tare``, which may be removed at any time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError


class Kept(NamedTuple):
    """Something in a cache."""

    path: Path
    size_bytes: int
    #: When it was used last.
    used_ns: int


def folder() -> Path:
    """Return the folder, which may not be there yet.

    Raises
    ------
    PlatformError
        If this user has no home.
    """
    try:
        given = os.environ.get("XDG_CACHE_HOME")
        return (Path(given) if given else Path.home() / ".cache") / "tare"
    except RuntimeError as error:
        raise PlatformError(
            "this user has no home to keep images in",
            "set XDG_CACHE_HOME to a directory of yours",
        ) from error


def excess(kept: Iterable[Kept], most_bytes: int) -> list[Path]:
    """Return what does not fit into a size, the longest unused first."""
    found: list[Path] = []
    for one in sorted(kept, key=lambda one: one.used_ns, reverse=True):
        most_bytes -= one.size_bytes
        if most_bytes < 0:
            found.append(one.path)
    return found[::-1]


def stamp(paths: Iterable[Path]) -> bytes:
    """Return what changes when one of these files does, without reading them."""
    found = hashlib.sha256()
    for path in paths:
        about = path.lstat()
        found.update(f"{path}\0{about.st_mode}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
    return found.digest()


def stamp_of_tree(top: Path) -> bytes:
    """Return what changes when a file below a directory does, without reading them."""
    found = hashlib.sha256()
    for at, names, files in os.walk(top.absolute()):
        names.sort()
        found.update(stamp(Path(at) / name for name in sorted([*names, *files])))
    return found.digest()
