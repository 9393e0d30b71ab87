"""A table as named NumPy columns: what is stored, and what statistics and findings read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tare import extras

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = NDArray[Any]


class Columns:
    """Named columns of equal length.

    Whole numbers are ``int64``, or ``float64`` with NaN where some are absent; other numbers are
    ``float64``, absent ones NaN; all else are objects, absent ones None.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values of each column, in the order of the rows.
    """

    __slots__ = ("_columns", "_length")

    def __init__(self, columns: Mapping[str, Sequence[Any] | Column]) -> None:
        self._columns = {name: column(values) for name, values in columns.items()}
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns differ in length: {sorted(lengths)}")
        self._length = lengths.pop() if lengths else 0

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
        """Make a table from its rows, each a value for every name."""
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return cls(dict(zip(names, columns, strict=True)))

    @classmethod
    def concatenated(cls, parts: Sequence[Columns]) -> Columns:
        """Put the rows of several tables of the same columns one after the other."""
        names = parts[0].names if parts else ()
        return cls({name: np.concatenate([part[name] for part in parts]) for name in names})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    @property
    def columns(self) -> dict[str, Column]:
        """The columns by their names."""
        return dict(self._columns)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return self._length > 0

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def rows(self, chosen: Column | Sequence[int]) -> Columns:
        """Return some of the rows: those that a mask is true for, or those at given places."""
        places = np.asarray(chosen)
        places = places if len(places) else places.astype(np.intp)
        return Columns({name: values[places] for name, values in self._columns.items()})

    def where(self, **wanted: Any) -> Columns:
        """Return the rows whose columns have the given values; of a set, one of its members."""
        mask = np.ones(self._length, dtype=bool)
        for name, value in wanted.items():
            mask &= is_in(self[name], value) if isinstance(value, (set, frozenset)) else (
                np.array([own is None for own in self[name]], dtype=bool)
                if value is None
                else np.asarray(self[name] == value, dtype=bool)
            )  # fmt: skip
        return self.rows(mask)

    def only(self, *names: str) -> Columns:
        """Return some of the columns."""
        return Columns({name: self[name] for name in names})

    def with_columns(self, **columns: Sequence[Any] | Column) -> Columns:
        """Return the same with columns added or replaced."""
        return Columns({**self._columns, **columns})

    def inserted(self, place: int, **columns: Sequence[Any] | Column) -> Columns:
        """Return the same with columns added before the one at a place."""
        own = list(self._columns.items())
        return Columns({**dict(own[:place]), **columns, **dict(own[place:])})

    def sorted_by(self, *names: str) -> Columns:
        """Return the rows in the order of some columns, the first one first; equal rows stay."""
        return self.rows(np.lexsort([codes(self[name])[0] for name in reversed(names)]))

    def group_numbers(self, *names: str) -> NDArray[np.intp]:
        """Return for each row the number of its combination of values of some columns, in order.

        NaN is one value, and the last one.
        """
        numbers = np.zeros(self._length, dtype=np.intp)
        for name in names:
            own, different = codes(self[name])
            numbers = np.unique(numbers * len(different) + own, return_inverse=True)[1]
        return numbers

    def groups(self, *names: str) -> Iterator[tuple[Any, Columns]]:
        """Yield the rows of each value of a column, or of each combination of several, in order."""
        if not self._length:
            return
        numbers = self.group_numbers(*names)
        order = np.argsort(numbers, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            key = tuple(self[name][places[:1]].tolist()[0] for name in names)
            yield (key[0] if len(names) == 1 else key), self.rows(places)

    def reduced(self, by: str, name: str, how: Callable[[Column], Any]) -> dict[Any, Any]:
        """Return what a function makes of a column's values, for each value of another column."""
        return {key: how(rows[name]) for key, rows in self.only(by, name).groups(by)}

    def distinct(self, name: str) -> list[Any]:
        """Return the different values of a column, in order of their first row."""
        return list(dict.fromkeys(self[name].tolist()))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary of Python's own values, None where one is absent."""
        lists = [
            [None if math.isnan(one) else one for one in values.tolist()]
            if values.dtype == np.float64
            else values.tolist()
            for values in self._columns.values()
        ]
        for row in zip(*lists, strict=True):
            yield dict(zip(self._columns, row, strict=True))

    def joined(self, other: Columns, on: str) -> Columns:
        """Add the columns of another table, whose ``on`` is unique; rows without it are left out.

        A column that both have is this table's.
        """
        places = {key: place for place, key in enumerate(other[on].tolist())}
        found = np.array([places.get(key, -1) for key in self[on].tolist()], dtype=np.intp)
        there = found >= 0
        added = other.rows(found[there])
        return Columns({
            **{name: values[there] for name, values in self._columns.items()},
            **{name: added[name] for name in other.names if name not in self},
        })  # fmt: skip

    def frame(self) -> pd.DataFrame:
        """Return a data frame."""
        extras.need("pandas")
        import pandas as pd

        return pd.DataFrame(dict(self._columns))


def group_means(groups: Column, values: Column) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the index of the first value of each group, and the mean of the group's values.

    The value of a trial is computed by no other function, so that the live display, the report and
    an audit agree to the last digit.

    Parameters
    ----------
    groups : array, shape (n,)
        Group of each value, such as its trial.
    values : array, shape (n,)

    Returns
    -------
    first, means : array, shape (m,)
        In order of the groups.
    """
    _, first, places, counts = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    return first, np.bincount(places, values, len(counts)) / counts


def column(values: Sequence[Any] | Column) -> Column:
    """Return values as a column of the type that :class:`Columns` has for them."""
    if isinstance(values, np.ndarray):
        return values
    kinds = {type(value) for value in values}
    if kinds and kinds <= {int, np.int64}:
        return np.array(values, dtype=np.int64)
    if kinds == {bool}:
        return np.array(values, dtype=bool)
    if kinds & {int, float, np.float64} and kinds <= {int, float, np.float64, type(None)}:
        return np.array(values, dtype=np.float64)
    return objects(values)


def objects(values: Iterable[Any]) -> Column:
    """Return a column of objects, also of values that are sequences themselves."""
    some = list(values)
    made = np.empty(len(some), dtype=object)
    made[:] = some
    return made


def is_in(values: Column, wanted: Collection[Hashable]) -> NDArray[np.bool_]:
    """Tell of each value of a column whether it is one of those that are wanted."""
    return np.array([value in wanted for value in values.tolist()], dtype=bool)


def codes(values: Column) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the number of each value, and the different values in order, absent ones last."""
    if values.dtype != object:
        different, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.intp), different.tolist()
    some = list(dict.fromkeys(values.tolist()))
    some.sort(key=lambda value: (value is None, value if value is not None else ""))
    number = {value: code for code, value in enumerate(some)}
    return np.array([number[value] for value in values.tolist()], dtype=np.intp), some
