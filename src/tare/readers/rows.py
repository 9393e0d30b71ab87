"""Rows of a table, chunk by chunk, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tare.readers.series import FloatArray, IntArray
from tare.results.message import Message

#: What a column is converted to. ``number``: quantities. ``time``: an array of numbers or of dates,
#: otherwise texts. ``integer``: an array of int64, otherwise levels. ``level``: levels.
Want = Literal["number", "time", "integer", "level"]


@dataclass(frozen=True, eq=False)
class Levels:
    """A column of texts, of which each is stored once.

    Attributes
    ----------
    codes : int32 array, shape (n,)
        Indices of ``texts``.
    texts : list of str
        In order of first appearance.
    """

    codes: NDArray[np.int32]
    texts: list[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Levels:
        """Find the distinct texts of a column."""
        known: dict[str, int] = {}
        codes = [known.setdefault(text, len(known)) for text in texts]
        return cls(np.array(codes, dtype=np.int32), [*known])


@dataclass(frozen=True, eq=False)
class Quantities:
    """A column of numbers with the texts behind them, which are units for example.

    Attributes
    ----------
    numbers : float array, shape (n,)
        NaN where a cell begins with no number.
    rests : Levels or None
        What follows each number, or the whole cell where there is no number; without white space
        around it. None if nothing follows any number, and cells without a number are empty.
    """

    numbers: FloatArray
    rests: Levels | None = None


Column = NDArray[Any] | Quantities | Levels | list[str]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows.

    Attributes
    ----------
    columns : mapping of int to Column
        By the index of the column; equally long.
    rows : int
    lines : callable
        Indices of rows of this chunk to the lines of the file that they begin at.
    """

    columns: Mapping[int, Column]
    rows: int
    lines: Callable[[IntArray], IntArray]


class Rows(Protocol):
    """A table that is read in order, once for each time that ``chunks`` is called.

    Attributes
    ----------
    names : tuple of str
        Its columns.
    place : str
        What a place in it is called: ``line``, ``row``.
    """

    names: tuple[str, ...]
    place: str

    @property
    def notes(self) -> list[Message]:
        """What was odd about it, complete once the chunks have been read."""

    def sample(self) -> list[list[str]]:
        """Return the cells of some rows from the beginning, by column."""

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all rows, with the columns that are wanted."""


def consecutive(first: int) -> Callable[[IntArray], IntArray]:
    """Return the lines of rows, by index, where each row is one line from ``first`` on."""

    def lines(index: IntArray) -> IntArray:
        return np.asarray(index, dtype=np.int64) + first

    return lines
