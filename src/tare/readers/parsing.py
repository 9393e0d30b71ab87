"""Delimited text to typed columns, which a process of the agent converts block by block."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tare import decoding
from tare.agent import client
from tare.errors import AgentError, Typed
from tare.readers.rows import Column, Levels, Quantities, Want
from tare.readers.series import IntArray


class Ragged(msgspec.Struct):
    """The first row with more or fewer cells than there are columns, or with an open quotation.

    Attributes
    ----------
    line : int
        Of the block, from 0.
    cells : int
    is_open : bool
        Whether a quotation mark is never closed.
    """

    line: int
    cells: int
    is_open: bool


class Parsed(NamedTuple):
    """The columns of a block.

    Attributes
    ----------
    rows : int
    lines : int array, shape (rows,), or None
        Lines of the block that rows begin with, from 0; None if these are 0, 1, 2, …
    columns : dict of int to Column
        By the index of the column.
    """

    rows: int
    lines: IntArray | None
    columns: dict[int, Column]


class Marks(NamedTuple):
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal_comma : bool
    thousands : str or None
        What separates thousands.
    """

    decimal_comma: bool = False
    thousands: str | None = None


class _Column(msgspec.Struct):
    """How a column was written.

    Attributes
    ----------
    kind : {"number", "time", "integer", "level", "text"}
    sizes : tuple of int
        Bytes of values, of codes, and of distinct texts.
    """

    kind: str
    sizes: tuple[int, int, int]


class _Header(msgspec.Struct):
    """What precedes the bytes of a block's columns.

    Attributes
    ----------
    rows : int
    lines : int
        Bytes of the lines of the rows; none where these are consecutive.
    columns : list of _Column
    ragged : Ragged or None
        Nothing follows.
    """

    rows: int = 0
    lines: int = 0
    columns: list[_Column] = []
    ragged: Ragged | None = None


_header = decoding.Decoder[_Header](_Header)


class Parser:
    """A process that converts blocks of whole lines, in UTF-8; a context that ends it.

    Parameters
    ----------
    separator : str
        An ASCII character.
    width : int
        Cells of each row.
    wanted : mapping of int to Want
        By the index of the column.
    marks : mapping of int to Marks
        Of columns whose numbers have other marks than a decimal point.

    Attributes
    ----------
    process : Popen of bytes
    """

    def __init__(
        self,
        separator: str,
        width: int,
        wanted: Mapping[int, Want],
        marks: Mapping[int, Marks],
    ) -> None:
        self._wanted = [*wanted]
        specification = {
            "separator": separator,
            "width": width,
            "wanted": [
                {"index": i, "kind": kind, **marks.get(i, Marks())._asdict()}
                for i, kind in wanted.items()
            ],
        }
        command = [str(client.binary()), "columns"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        # An argument of a command has a limit, which a table of many columns exceeds.
        self._send(json.dumps(specification).encode())

    def __enter__(self) -> Parser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def parse(self, block: bytes) -> Parsed | Ragged:
        """Convert a block.

        Raises
        ------
        AgentError
            If the process ended.
        """
        self._send(block)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        header = _header.decode(line)
        if header.ragged is not None:
            return header.ragged
        lines = np.frombuffer(self._read(header.lines), np.uint32).astype(np.int64)
        columns = {
            i: _column(one.kind, *map(self._read, one.sizes))
            for i, one in zip(self._wanted, header.columns, strict=True)
        }
        return Parsed(header.rows, lines if header.lines else None, columns)

    def _send(self, data: bytes) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(struct.pack("=I", len(data)))
            stdin.write(data)
            stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise self._ended()
        return data

    def _ended(self) -> AgentError:
        _, errors = self.process.communicate()
        why = errors.decode(errors="replace").strip() or f"exit code {self.process.returncode}"
        return AgentError(f"the process that parses tables ended: {why}", Typed("make setup"))


def _column(kind: str, data: bytes, codes: bytes, texts: bytes) -> Column:
    if kind == "text":
        return data.decode().split("\0")[:-1]
    if kind in {"time", "integer"}:
        return np.frombuffer(data, np.float64 if kind == "time" else np.int64)
    levels = Levels(np.frombuffer(codes, np.int32), texts.decode().split("\0")[:-1])
    if kind == "level":
        return levels
    return Quantities(np.frombuffer(data), levels if codes else None)
