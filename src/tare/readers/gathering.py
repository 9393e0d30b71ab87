"""From the rows of a table to series: parted by the levels of some columns, faults counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.errors import InputError
from tare.readers import growing_columns as growing
from tare.readers.growing_columns import Growing
from tare.readers.rows import Chunk, Levels
from tare.readers.series import IntArray
from tare.results.message import Message, message

#: More series than anybody looks at.
MOST_SERIES = 10_000
#: Places that a message names.
MOST_PLACES = 5
#: Up to so many combinations of levels a table of them is quicker than sorting.
_MOST_COMBINATIONS = 1 << 22
#: Combinations of levels that have numbers of 64 bits.
_MOST_CODES = 1 << 62


@dataclass
class Fault:
    """Rows of one series that were left out.

    Attributes
    ----------
    count : int
    places : list of int
        The first few lines.
    """

    count: int = 0
    places: list[int] = field(default_factory=list)

    def where(self, place: str) -> Message:
        """Say where: ``lines 4, 9 and 17``."""
        named = self.places[:MOST_PLACES]
        return message(
            "{place}{% if more or places | length > 1 %}s{% endif %} {% if more %}"
            "{places | join(', ')} and {more} more{% else %}{places | listing}{% endif %}",
            place=place,
            places=named,
            more=self.count - len(named),
        )


class Faults:
    """Rows that were left out, by series."""

    def __init__(self) -> None:
        self.of: dict[int, Fault] = {}

    @property
    def count(self) -> int:
        """Of all series."""
        return sum(fault.count for fault in self.of.values())

    def add(self, series: IntArray, lines: Callable[[IntArray], IntArray], rows: IntArray) -> None:
        """Count rows; ``series`` are those of ``rows``."""
        found, counts = np.unique(series, return_counts=True)
        for one, count in zip(found.tolist(), counts.tolist(), strict=True):
            fault = self.of.setdefault(one, Fault())
            wanted = MOST_PLACES - len(fault.places)
            if wanted > 0:
                fault.places += lines(rows[series == one][:wanted]).tolist()
            fault.count += count

    def take(self, series: int, fault: Fault) -> None:
        """Count rows that were counted elsewhere until now."""
        kept = self.of.setdefault(series, Fault())
        kept.places += fault.places[: MOST_PLACES - len(kept.places)]
        kept.count += fault.count


class Edges:
    """Cells without a value before the first and after the last value of each series.

    Attributes
    ----------
    outside : Faults
        Those before, and, once everything was read, those after.
    """

    def __init__(self) -> None:
        self.outside = Faults()
        #: Those after the last value so far.
        self._after = Faults()
        #: Series that have no value so far.
        self._empty: set[int] = set()

    def part(
        self,
        absent: NDArray[np.bool_],
        series: IntArray | None,
        earlier: int,
        lines: Callable[[IntArray], IntArray],
        inside: Faults,
    ) -> NDArray[np.bool_]:
        """Find the cells of a chunk without a value that are not between two values, so far.

        Parameters
        ----------
        absent : bool array, shape (n,)
        series : int array, shape (n,), or None
        earlier : int
            Number of series that earlier chunks have rows of.
        lines : callable
            As of a chunk.
        inside : Faults
            Gets those of earlier chunks that are between two values after all.
        """
        outside = np.zeros(len(absent), dtype=bool)
        if not absent.any() and not self._after.of and not self._empty:
            return outside
        numbers = np.zeros(len(absent), dtype=np.int64) if series is None else series
        order = np.argsort(numbers, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            one, gone = int(numbers[rows[0]]), absent[rows]
            has_begun = one < earlier and one not in self._empty
            if gone.all():
                (self._after if has_begun else self.outside).add(numbers[rows], lines, rows)
                outside[rows] = True
                if not has_begun:
                    self._empty.add(one)
                continue
            self._empty.discard(one)
            if one in self._after.of:
                inside.take(one, self._after.of.pop(one))
            first, last = int(np.argmin(gone)), len(rows) - int(np.argmin(gone[::-1]))
            before = rows[:0] if has_begun else rows[:first]
            for faults, some in ((self.outside, before), (self._after, rows[last:])):
                outside[some] = True
                if len(some):
                    faults.add(numbers[some], lines, some)
        return outside

    def finish(self) -> None:
        """Count what is left after the last value as outside."""
        for one, fault in self._after.of.items():
            self.outside.take(one, fault)
        self._after = Faults()


class Parting:
    """Gives each row the number of its series, in order of first appearance.

    Parameters
    ----------
    file : Path
    columns : sequence of int
        Whose levels make the series; with none, all rows are one.
    """

    def __init__(self, file: Path, columns: Sequence[int]) -> None:
        self._file = file
        self._columns = columns
        self._numbers: dict[tuple[str, ...], int] = {} if columns else {(): 0}

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """Levels of each series so far."""
        return list(self._numbers)

    def series(self, chunk: Chunk) -> IntArray | None:
        """Return the series of each row; None where all are of the only one."""
        if not self._columns:
            return None
        columns = (chunk.columns[i] for i in self._columns)
        levels = [column for column in columns if isinstance(column, Levels)]
        combined, combinations = np.zeros(chunk.rows, dtype=np.int64), 1
        for column in levels:
            size = max(1, len(column.texts))
            if combinations * size > _MOST_CODES:
                combined = np.unique(combined, return_inverse=True)[1]
                combinations = chunk.rows
            combined = combined * size + column.codes
            combinations *= size
        first, inverse = _distinct(combined, combinations)
        keys = (
            tuple(column.texts[column.codes[row]].strip() for column in levels) for row in first
        )
        numbers = np.array([self._number(key) for key in keys])
        return np.asarray(numbers[inverse])

    def _number(self, key: tuple[str, ...]) -> int:
        if key not in self._numbers and len(self._numbers) >= MOST_SERIES:
            raise InputError(
                f"{self._file} makes more than {MOST_SERIES:,} series by these columns",
                "group by columns of few levels",
            )
        return self._numbers.setdefault(key, len(self._numbers))


def _distinct(combined: IntArray, combinations: int) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct value, in this order, and the place of each row's."""
    n = len(combined)
    if combinations > _MOST_COMBINATIONS:
        _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order], rank[inverse]
    first = np.full(combinations, n)
    # Of several values for one place the last stays, which is the first of the rows.
    first[combined[::-1]] = np.arange(n - 1, -1, -1)
    present = np.flatnonzero(first < n)
    values = present[np.argsort(first[present])]
    rank = np.zeros(combinations, dtype=np.int64)
    rank[values] = np.arange(len(values))
    return first[values], rank[combined]


class Gathering:
    """Values and what goes with them, by series.

    Parameters
    ----------
    types : sequence of type
        Of the columns that are kept, the values first.
    """

    def __init__(self, types: Sequence[type]) -> None:
        resident = growing.budget() // len(types)
        self._columns = [Growing(one, resident) for one in types]

    def add(self, series: IntArray | None, known: int, columns: Sequence[NDArray[Any]]) -> None:
        """Put rows to their series, of which ``known`` are known by now."""
        n = len(columns[0])
        if series is None:
            for growing, column in zip(self._columns, columns, strict=True):
                growing.append(0, column)
            return
        small = series.astype(np.uint16)  # which numpy sorts in one pass; MOST_SERIES fits
        contiguous = not np.any(small[1:] < small[:-1])
        order = None if contiguous else np.argsort(small, kind="stable")
        counts = np.bincount(small, minlength=known)
        ends = np.cumsum(counts)
        for growing, column in zip(self._columns, columns, strict=True):
            parted = column if order is None else column[order]
            for one in range(known):
                if counts[one] or one >= growing.groups:
                    growing.append(one, parted[ends[one] - counts[one] : ends[one]])
        assert n == int(ends[-1])

    def finish(self) -> list[list[NDArray[Any]]]:
        """Return the arrays of each column, by series."""
        return [growing.finish() for growing in self._columns]


def in_order(
    file: Path, order: NDArray[np.float64], columns: list[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Sort the columns of one series by time, if they are not; equal times stay as they are.

    Raises
    ------
    InputError
        If there is no memory to sort in.
    """
    step = 1 << 20
    pieces = (order[at : at + step + 1] for at in range(0, len(order), step))
    if not any(np.any(piece[1:] < piece[:-1]) for piece in pieces):
        return columns
    if 2 * order.nbytes > growing.available():
        raise InputError(
            f"{file} is not in order of time, and too large to be sorted in memory",
            "sort it by that column first, or leave the order out",
        )
    index = np.argsort(order, kind="stable")
    return [column[index] for column in columns]
