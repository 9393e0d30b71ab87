"""Which column of a table is what: as was said, and otherwise as the only one that it can be."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.errors import InputError
from tare.interop.cells import is_number
from tare.interop.csv_rows import ABSENT
from tare.interop.rows import Rows, Want
from tare.interop.series import Columns
from tare.interop.text_file import label

#: Names of columns that a message lists.
_MOST_NAMES = 20


@dataclass(frozen=True)
class Roles:
    """Indices of columns.

    Attributes
    ----------
    value : int
    keys : tuple of int
        Those whose levels make the series.
    order, trial, block : int or None
    guessed : bool
        Whether the column of the values was not named.
    """

    value: int
    keys: tuple[int, ...]
    order: int | None
    trial: int | None
    block: int | None
    guessed: bool

    def wanted(self) -> dict[int, Want]:
        """Say what each column is read as."""
        wanted: dict[int, Want] = {}
        for i in (self.trial, self.block):
            if i is not None:
                wanted[i] = "integer"
        if self.order is not None:
            wanted[self.order] = "number"
        wanted.update(dict.fromkeys(self.keys, "level"))
        wanted[self.value] = "number"
        return wanted


def find(file: Path, rows: Rows, columns: Columns) -> Roles:
    """Find the columns that were named, and the values where they were not.

    Raises
    ------
    InputError
        If there is no such column, or more than one could hold the values; lists what there is.
    """
    keys = tuple(dict.fromkeys((*columns.group, *columns.compare)))
    named = [name for name in (columns.value, *keys, columns.order) if name is not None]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"column {twice!r} cannot be two things at once", "name each column for one purpose"
        )
    index = {
        name: _index(file, rows.names, name)
        for name in (*named, columns.trial, columns.block)
        if name is not None
    }
    value = (
        index[columns.value] if columns.value else _only_numeric(file, rows, set(index.values()))
    )
    return Roles(
        value=value,
        keys=tuple(index[name] for name in keys),
        order=index[columns.order] if columns.order else None,
        trial=index[columns.trial] if columns.trial else None,
        block=index[columns.block] if columns.block else None,
        guessed=columns.value is None,
    )


def listed(names: Sequence[str]) -> str:
    """List the names of columns, not all where they are many."""
    shown = ", ".join(label(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _index(file: Path, names: Sequence[str], name: str) -> int:
    found = [i for i, one in enumerate(names) if one == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{file} has {len(found)} columns {name!r}", "rename all but one of them")
    near = difflib.get_close_matches(name, names[:1000], 1, 0.5)
    meant = f"did you mean {label(near[0])!r}? " if near else ""
    raise InputError(f"{file} has no column {name!r}", f"{meant}It has: {listed(names)}")


def _only_numeric(file: Path, rows: Rows, taken: set[int]) -> int:
    sample = rows.sample()
    numeric = []
    for i, _ in enumerate(rows.names):
        cells = [c for c in map(str, sample.columns[i].to_pylist()) if c.strip() not in ABSENT]
        good = sum(is_number(cell) or cell.lower() == "nan" for cell in cells)
        if i not in taken and cells and good > len(cells) / 2:
            numeric.append(i)
    if len(numeric) == 1:
        return numeric[0]
    free = [rows.names[i] for i in numeric]
    if not numeric:
        raise InputError(
            f"{file} has no column of numbers, except those that were named otherwise",
            f"--value names it; there are: {listed(rows.names)}",
        )
    raise InputError(
        f"{file} has several columns of numbers: {listed(free)}",
        f"name the values with --value, for instance --value {label(free[-1])}",
    )
