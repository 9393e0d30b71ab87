"""A text of any length in blocks of whole lines, as UTF-8: decompressed, decoded, bounded."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers.compression import most_unpacked, take, unpacked
from tare.readers.text_file import encoding
from tare.results.message import Message, message

#: Bytes that are parsed at a time.
BLOCK_BYTES = 2 << 20
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
        UTF-8; lines end with LF.
    line : int
        The line of the file that it begins with, from 1.
    lines : int
        How many there are.
    """

    data: bytes
    line: int
    lines: int


@dataclass
class Text:
    """A text file that is read block by block.

    Attributes
    ----------
    file : Path
    notes : list of Message
        What was odd about its encoding.
    """

    file: Path
    notes: list[Message] = field(default_factory=list)
    _line: int = 1

    def head(self) -> str:
        """Return the beginning, at most ``HEAD_BYTES`` of it."""
        with unpacked(self.file) as source:
            data = take(self.file, source, HEAD_BYTES)
        decoder, skip = self._decoder(data)
        if not decoder:
            self._check_text(data)
        text = decoder.decode(data[skip:]) if decoder else _utf8(data[skip:])
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def blocks(self) -> Iterator[Block]:
        """Go through the whole file.

        Raises
        ------
        InputError
            If it cannot be read or unpacked, or a line is too long; names the line.
        """
        self._line, rest = 1, b""
        for data in self._decoded():
            rest = rest + data if rest else data
            end = _end(rest) if data else len(rest)
            if end:
                whole, rest = rest[:end], rest[end:]
                lines = count(whole, "\n") + (not whole.endswith(b"\n"))
                yield Block(whole, self._line, lines)
                self._line += lines
            if len(rest) > MOST_LINE_BYTES:
                raise InputError(
                    f"{self.file}, line {self._line} is longer than {MOST_LINE_BYTES >> 20} MiB,"
                    " or a quotation mark in it is never closed",
                    "is it a table of lines?",
                )

    def _decoded(self) -> Iterator[bytes]:
        """Go through the file as UTF-8 with LF at the ends of lines; nothing comes at the end."""
        with unpacked(self.file) as source:
            most = most_unpacked(self.file)
            raw = take(self.file, source, BLOCK_BYTES)
            came = len(raw)
            decoder, skip = self._decoder(raw)
            raw = raw[skip:]
            held = b""
            while True:
                data = decoder.decode(raw, final=not raw).encode() if decoder else raw
                self._check_text(data)
                data = held + data
                # LF may come with what is read next.
                held = b"\r" if raw and data.endswith(b"\r") else b""
                data = data[: len(data) - len(held)]
                if b"\r" in data:
                    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                if data:
                    yield data
                if not raw:
                    yield b""
                    return
                raw = take(self.file, source, BLOCK_BYTES, self._line)
                came += len(raw)
                if most is not None and came > most:
                    raise InputError(
                        f"{self.file} is larger than {most >> 20} MiB unpacked, far more than"
                        " measurements come to",
                        "unpack it first, if that is what it should be",
                    )

    def _decoder(self, data: bytes) -> tuple[codecs.IncrementalDecoder | None, int]:
        """Return what turns the bytes into text (None: they are UTF-8), and the BOM's length."""
        name = encoding(data)
        if name.startswith("utf-8"):
            return None, len(codecs.BOM_UTF8) if name == "utf-8-sig" else 0
        self.note(message("the file is read as {encoding}", encoding=name.upper()))
        return codecs.getincrementaldecoder(name)("replace"), 0

    def _check_text(self, data: bytes) -> None:
        if b"\0" in data:
            at = self._line + data.count(b"\n", 0, data.index(b"\0"))
            raise InputError(f"{self.file}, near line {at}: a zero byte, so it is no text", _REDO)

    def note(self, note: Message) -> None:
        """Add a note, once."""
        if note not in self.notes:
            self.notes.append(note)


def count(data: bytes, mark: str) -> int:
    """Count an ASCII character, with numpy: ``bytes.count`` is slow if it occurs often."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(mark)))


def _utf8(data: bytes) -> str:
    """Decode a beginning whose last character may be cut; other bytes may be of Latin-1."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _end(data: bytes) -> int:
    """Return where the last whole row ends: at a line end that no quotation marks enclose."""
    last = data.rfind(b"\n") + 1
    if b'"' not in data:
        return last
    inside = count(data[:last], '"') % 2 == 1
    at = last
    while at and inside:
        before = data.rfind(b"\n", 0, at - 1) + 1
        inside ^= data.count(b'"', before, at) % 2 == 1
        at = before
    # With stray quotation marks no place looks right, and any line end is as good.
    return at or (last if len(data) > 2 * BLOCK_BYTES else 0)
