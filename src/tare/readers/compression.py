"""Decompression of files, by their first bytes: gzip, bzip2, Zstandard."""

from __future__ import annotations

import bz2
import gzip
import sys
import zlib
from pathlib import Path
from typing import Any

from tare.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPEN: dict[str | None, Any] = {
    None: open,
    "gzip": gzip.open,
    "bz2": bz2.open,
    "zstd": zstd.open,
}
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
#: Formats that are refused by name; a zip may hold anything, a spreadsheet for example.
_ELSEWHERE = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
}

#: Bytes that any packed file may come to, and otherwise times its size.
_ALWAYS, _MOST_FACTOR = 1 << 28, 200


def packing(head: bytes) -> str | None:
    """Return how a file is packed; None if it is not."""
    return next((how for mark, how in _PACKED.items() if head.startswith(mark)), None)


def most_unpacked(file: Path) -> int | None:
    """Return how many bytes a packed file may come to; None if it is not packed.

    Tables of measurements come to ten times their packed size, those made to fill a memory to a
    thousand times.
    """
    with file.open("rb") as source:
        if packing(source.read(6)) is None:
            return None
    return max(_ALWAYS, _MOST_FACTOR * file.stat().st_size)


def unpacked(file: Path) -> Any:
    """Open a file for reading; close it, or use it as a context.

    Raises
    ------
    InputError
        If it cannot be opened, or is packed otherwise.
    """
    try:
        with file.open("rb") as source:
            start = source.read(6)
        _refuse(file, start)
        # Messages and pages name the file.
        str(file).encode()
        return _OPEN[packing(start)](file, "rb")
    except UnicodeEncodeError as error:
        raise InputError(
            f"cannot read {str(file)!r}: its name is not UTF-8", "rename it, or make a link to it"
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot read {file}: {error.strerror}", "name a file of results"
        ) from error


def _refuse(file: Path, start: bytes) -> None:
    how = next((how for mark, how in _ELSEWHERE.items() if start.startswith(mark)), None)
    if how is not None:
        raise InputError(
            f"{file} is packed as {how}, which is not read here",
            "unpack it first; export a spreadsheet as CSV",
        )


def take(file: Path, source: Any, most: int, line: int | None = None) -> bytes:
    """Read up to so many bytes; nothing at the end.

    Raises
    ------
    InputError
        If what is packed is damaged or ends early; names the line that it came to.
    """
    try:
        return bytes(source.read(most))
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        where = f"{file}, after line {line}" if line else f"{file}"
        raise InputError(
            f"{where}: what is packed in it is damaged or ends early ({error})",
            "copy it again, or let the tool that wrote it write it again",
        ) from error
