"""Rows of a table, chunk by chunk, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa

from tare.readers.series import IntArray
from tare.results.message import Message

#: What a column is wanted for. Numbers come as float64 where all of a chunk are, otherwise as
#: text; levels and texts come as text, levels as a dictionary of few.
Want = Literal["number", "integer", "level"]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows.

    Attributes
    ----------
    columns : mapping of int to Array
        By the index of the column; equally long.
    rows : int
    lines : callable
        Indices of rows of this chunk to the lines of the file that they begin at.
    """

    columns: Mapping[int, pa.Array]
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

    def sample(self) -> Chunk:
        """Return some rows from the beginning, with every column as text."""

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all rows, with the columns that are wanted."""


def consecutive(first: int) -> Callable[[IntArray], IntArray]:
    """Return the places of rows that stand one a line, from a first."""

    def lines(index: IntArray) -> IntArray:
        return np.asarray(index, dtype=np.int64) + first

    return lines
