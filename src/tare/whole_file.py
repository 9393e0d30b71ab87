"""Files that are written whole or not at all."""

from __future__ import annotations

import os
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


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; a file that was synced may have none otherwise."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
