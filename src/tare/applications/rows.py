"""Rows that a program leaves of a trial, one per request or task.

A kind of rows says what is kept of them next to the journal, in one file per trial.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tare.applications.refusal import Refusal
from tare.results.columns import Column, Columns, objects
from tare.results.message import Message

#: Of a file that a program leaves: the agent passes no more on.
MOST_BYTES = 64 << 20
#: Of texts, which are kept with every row.
LONGEST = 200
#: Times beyond this are no times: a year in nanoseconds, and a date in some thousand years.
MOST_DURATION_NS, MOST_NS = 366 * 86_400 * 10**9, 1 << 62
#: Rows that are parsed at a time, so that texts of all rows are never in memory at once.
_PIECE = 50_000
#: Type of a column: whole numbers, numbers, texts, truth values.
Type = Literal["integer", "number", "text", "flag"]
#: What a cell of numbers may hold, by its type. ``int`` and ``float`` would read more.
_NUMBERS = {
    "integer": re.compile(r" *-?[0-9]{1,19} *"),
    "number": re.compile(r" *[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})? *"),
}


class RowsError(Exception):
    """What was left is no table of its kind; says why."""

    def __init__(self, kind: str, said: Message) -> None:
        super().__init__(kind)
        self.refusal = Refusal(kind, said)

    @property
    def said(self) -> Message:
        """Why, in words."""
        return self.refusal.said


class ColumnError(Exception):
    """A table has a column not once."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class TableError(Exception):
    """A text is not CSV with the columns asked for."""


@dataclass(frozen=True)
class Kind:
    """One kind of rows.

    Attributes
    ----------
    name : str
        Of its table, and of the folder that has a file per trial.
    columns : mapping of str to str
        Types of the columns of such a file.
    optional : frozenset of str
        Columns in which values may be absent.
    added : frozenset of str
        Columns of whole numbers that files of earlier versions of tare do not have: all absent.
    check : callable
        Raises RowsError where values are not possible.
    failed : callable
        Counts the rows of what failed.
    derived : callable
        Adds what is computed from each row.
    """

    name: str
    columns: Mapping[str, Type]
    optional: frozenset[str]
    check: Callable[[Columns], None]
    failed: Callable[[Columns], int]
    derived: Callable[[Columns], Columns]
    added: frozenset[str] = frozenset()


def csv_pieces(
    data: bytes, columns: Mapping[str, Type], optional: Collection[str]
) -> Iterator[Columns]:
    """Read a CSV with a header, some thousand rows at a time.

    Parameters
    ----------
    data : bytes
    columns : mapping of str to str
        Those that are read, with their types. Cells of numbers without text are NaN.
    optional : collection of str
        Those that need not be there.

    Raises
    ------
    ColumnError
        If a column is missing, or is there twice.
    TableError
        If it is no such CSV.
    """
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        header = next(reader, [])
        if not header:
            raise TableError("it has no header")
        places = {name: _place(header, name, optional) for name in columns}
        while rows := [row for row in itertools.islice(reader, _PIECE) if row]:
            ragged = next((row for row in rows if len(row) != len(header)), None)
            if ragged is not None:
                raise TableError(
                    f"a row before line {reader.line_num + 1} has {len(ragged)} values, "
                    f"but there are {len(header)} columns"
                )
            cells = [*zip(*rows, strict=True)]
            yield Columns({
                name: _parsed(name, cells[place], columns[name])
                for name, place in places.items()
                if place is not None
            })  # fmt: skip
    except UnicodeDecodeError:
        raise TableError("it is no text in UTF-8") from None
    except csv.Error as error:
        raise TableError(f"line {reader.line_num}: {error}") from None


def _place(header: Sequence[str], name: str, optional: Collection[str]) -> int | None:
    times = header.count(name)
    if times > 1 or (not times and name not in optional):
        raise ColumnError(name)
    return header.index(name) if times else None


def _parsed(name: str, cells: Sequence[str], kind: Type) -> Column:
    """Return a column of cells; absent numbers are NaN."""
    if kind == "text":
        # One object for all cells that are alike.
        alike: dict[str, str] = {}
        return objects(alike.setdefault(cell, cell) for cell in cells)
    wrong = next((one for one in cells if one and not _NUMBERS[kind].fullmatch(one)), None)
    if wrong is not None:
        raise TableError(f"column {name!r}: {wrong[:LONGEST]!r} is no {kind}")
    if kind == "number":
        return np.array([float(cell or "nan") for cell in cells])
    try:
        whole = np.array([int(cell or 0) for cell in cells], dtype=np.int64)
    except OverflowError:
        raise TableError(f"column {name!r}: a number has more than 64 bits") from None
    absent = np.array([not cell for cell in cells])
    return np.where(absent, np.nan, whole) if absent.any() else whole
