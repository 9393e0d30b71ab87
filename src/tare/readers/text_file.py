"""Text of a file that somebody else wrote: bounded, decoded, with the place where it is wrong."""

from __future__ import annotations

import codecs
from pathlib import Path

from tare.errors import InputError
from tare.readers.compression import take, unpacked

_STEP = 1 << 20
#: Windows PowerShell redirects into UTF-16; nothing else is guessed without a mark.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_text(file: Path, most_bytes: int) -> str:
    """Read and decode a whole file.

    Parameters
    ----------
    file : Path
    most_bytes : int
        More is refused before it is decoded; of what is packed, its content counts.

    Raises
    ------
    InputError
        If it cannot be read, is too large, or is neither UTF-8 nor marked UTF-16.
    """
    data = bytearray()
    with unpacked(file) as source:
        while len(data) <= most_bytes and (more := take(file, source, _STEP)):
            data += more
    if len(data) > most_bytes:
        raise InputError(
            f"{file} is larger than {most_bytes >> 20} MiB, the most that is read of this format",
            "split it, or turn the values into a long CSV or Parquet table",
        )
    try:
        return data.decode(encoding(data))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{file}, line {line}: byte {error.start} (0x{data[error.start]:02x}) is not"
            f" {encoding(data).removesuffix('-sig').upper()}",
            f"write it as UTF-8, for instance: iconv -f latin1 -t utf-8 {file}",
        ) from error


def head_text(head: bytes) -> str:
    """Decode the beginning of a file to recognise it by; what cannot be decoded is replaced."""
    return head.decode(encoding(head), "replace")


def place(text: str, at: int) -> str:
    """Say where a position of a text is: ``line 3, column 14``."""
    before = text.rfind("\n", 0, at)
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - before}"


def label(text: str) -> str:
    """Make a name from a file fit to be shown: no control characters, no half characters.

    Terminals obey escape sequences, and half a surrogate pair cannot be printed.
    """
    if text.isprintable():
        return text
    whole = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole)


def shown(value: object, most: int = 60) -> str:
    """Quote what a file holds inside a message, cut where it is long."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    quoted = repr(value[:most] if isinstance(value, str) else value)
    return label(quoted if len(quoted) <= most + 2 else quoted[:most] + "…")


def encoding(data: bytes | bytearray) -> str:
    """Tell the encoding by the mark at the beginning; without one it is UTF-8."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
