"""A file as it would be unpacked, which its first bytes tell: gzip, bzip2, Zstandard, LZ4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from tare.errors import InputError

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
#: What is known, but not unpacked here; a zip may hold anything, a spreadsheet for one.
_ELSEWHERE = {b"PK\x03\x04": "zip", b"\xfd7zXZ\x00": "xz", b"7z\xbc\xaf\x27\x1c": "7z"}

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
        return pa.input_stream(str(file), compression=packing(start))
    except UnicodeEncodeError as error:
        raise InputError(
            f"cannot read {str(file)!r}: its name is not UTF-8", "rename it, or make a link to it"
        ) from error
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {file}: {why}", "name a file of results") from error


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
    except (OSError, pa.ArrowException, EOFError) as error:
        where = f"{file}, after line {line}" if line else f"{file}"
        raise InputError(
            f"{where}: what is packed in it is damaged or ends early ({error})",
            "copy it again, or let the tool that wrote it write it again",
        ) from error
