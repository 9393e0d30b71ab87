"""A text of any length in blocks of whole lines, as UTF-8: decompressed, decoded, bounded."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tare.errors import InputError
from tare.interop.packed import take, unpacked

#: Bytes that are parsed at a time.
BLOCK_BYTES = 16 << 20
#: The longest line, or value in quotation marks, that is read.
MOST_LINE_BYTES = 64 << 20
#: Bytes from the beginning that tell the encoding, the separator and the columns.
HEAD_BYTES = 1 << 20

_REDO = "let the tool that wrote it write it again"


@dataclass(frozen=True)
class Block:
    """Whole lines of a text.

    Attributes
    ----------
    data : bytes
        UTF-8; lines end with LF or CR LF.
    line : int
        The line of the file that it begins with, from 1.
    """

    data: bytes
    line: int


@dataclass
class Text:
    """A text file that is read block by block.

    Attributes
    ----------
    file : Path
    notes : list of str
        What was odd about its encoding, each a sentence.
    """

    file: Path
    notes: list[str] = field(default_factory=list)

    def head(self) -> str:
        """Return the beginning, at most ``HEAD_BYTES`` of it."""
        with unpacked(self.file) as source:
            data = take(self.file, source, HEAD_BYTES)
        decoder, newline, skip = self._decoder(data)
        text = decoder.decode(data[skip:]) if decoder else _utf8(data[skip:])
        return text.replace("\r", "\n") if newline == b"\r" else text

    def blocks(self) -> Iterator[Block]:
        """Go through the whole file.

        Raises
        ------
        InputError
            If it cannot be read or unpacked, or a line is too long; names the line.
        """
        with unpacked(self.file) as source:
            line, rest, first = 1, b"", True
            decoder = None
            newline = b"\n"
            while True:
                raw = take(self.file, source, BLOCK_BYTES, line)
                if first:
                    decoder, newline, skip = self._decoder(raw)
                    raw, first = raw[skip:], False
                data = self._decoded(decoder, raw, line)
                if newline == b"\r":
                    data = data.replace(b"\r", b"\n")
                data = rest + data
                end = len(data) if not raw else _end(data)
                if end:
                    yield Block(data[:end], line)
                    line += data.count(b"\n", 0, end)
                rest = data[end:]
                if not raw:
                    return
                if len(rest) > MOST_LINE_BYTES:
                    raise InputError(
                        f"{self.file}, line {line} is longer than {MOST_LINE_BYTES >> 20} MiB, or"
                        " a quotation mark in it is never closed",
                        "is it a table of lines?",
                    )

    def _decoder(self, data: bytes) -> tuple[codecs.IncrementalDecoder | None, bytes, int]:
        """Return what turns the bytes into text (None: they are UTF-8), line ends, and BOM."""
        skip, name = 0, "utf-8"
        if data.startswith(codecs.BOM_UTF8):
            skip = len(codecs.BOM_UTF8)
        elif data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            name = "utf-32"
        elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            name = "utf-16"
        elif b"\0" in data[:4096]:
            name = _utf16_without_mark(self.file, data[:4096])
        if name != "utf-8":
            self.note(f"It is {name.upper()}, and is read as that.")
            return codecs.getincrementaldecoder(name)("replace"), b"\n", 0
        newline = b"\r" if b"\r" in data[:65536] and b"\n" not in data[:65536] else b"\n"
        return None, newline, skip

    def _decoded(self, decoder: codecs.IncrementalDecoder | None, raw: bytes, line: int) -> bytes:
        if decoder is None:
            if b"\0" in raw:
                at = line + raw.count(b"\n", 0, raw.index(b"\0"))
                raise InputError(
                    f"{self.file}, near line {at}: a zero byte, so it is no text", _REDO
                )
            return raw
        return decoder.decode(raw, final=not raw).encode()

    def note(self, sentence: str) -> None:
        """Tell something once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def _utf8(data: bytes) -> str:
    """Decode a beginning whose last character may be cut; other bytes may be of Latin-1."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _utf16_without_mark(file: Path, data: bytes) -> str:
    """Tell UTF-16 by its zeros, which stand at every other byte where letters are Latin ones."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    half = len(data) // 2
    if odd > 0.9 * half and even == 0:
        return "utf-16-le"
    if even > 0.9 * half and odd == 0:
        return "utf-16-be"
    raise InputError(f"{file}, line 1: zero bytes, so it is no text", "name a table")


def _end(data: bytes) -> int:
    """Return where the last whole row ends: at a line end that no quotation marks enclose."""
    last = data.rfind(b"\n") + 1
    if b'"' not in data:
        return last
    inside = data.count(b'"', 0, last) % 2 == 1
    at = last
    while at and inside:
        before = data.rfind(b"\n", 0, at - 1) + 1
        inside ^= data.count(b'"', before, at) % 2 == 1
        at = before
    # With stray quotation marks no place looks right, and any line end is as good.
    return at or (last if len(data) > 2 * BLOCK_BYTES else 0)
