"""What a program left of a trial, a row for each thing that it did: requests, tasks.

A kind of rows says what is kept of them next to the journal, one Parquet file a trial.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from tare.results.message import Message

#: Of a file that a program leaves: the agent passes no more on.
MOST_BYTES = 64 << 20
#: Of texts, which are kept with every row.
LONGEST = 200
#: Times beyond this are no times: a year in nanoseconds, and a date in some thousand years.
MOST_DURATION_NS, MOST_NS = 366 * 86_400 * 10**9, 1 << 62


class RowsError(Exception):
    """What was left is no table of its kind; says why."""

    def __init__(self, said: Message) -> None:
        super().__init__(said.id)
        self.said = said


class ColumnError(Exception):
    """A table has a column not once."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


@dataclass(frozen=True)
class Kind:
    """One kind of rows.

    Attributes
    ----------
    name : str
        Of its table, and of the folder that has a file a trial.
    kept : Schema
        Of such a file.
    texts, optional : tuple of str
        Its columns of texts that repeat, and those of them that may be absent.
    check : callable
        Raises RowsError where values are not possible.
    failed : callable
        Counts the rows of what failed.
    derived : callable
        Adds what is computed from each row.
    """

    name: str
    kept: pa.Schema
    texts: tuple[str, ...]
    optional: tuple[str, ...]
    check: Callable[[pa.Table], None]
    failed: Callable[[pa.Table], int]
    derived: Callable[[pa.Table], pa.Table]


def csv_pieces(
    data: bytes,
    columns: Mapping[str, pa.DataType],
    optional: Collection[str],
    *,
    newlines: bool = False,
) -> Iterator[pa.Table]:
    """Read a CSV with a header piece by piece: what is too much never is in memory as a whole.

    Parameters
    ----------
    data : bytes
    columns : mapping
        Those that are read, with their types.
    optional : collection of str
        Those that need not be there.
    newlines : bool
        Whether texts may have some.

    Raises
    ------
    ColumnError
        If a column is missing, or is there twice.
    ArrowInvalid
        If it is no such CSV.
    """
    parse = pyarrow.csv.ParseOptions(newlines_in_values=newlines)
    with pyarrow.csv.open_csv(pa.BufferReader(data), parse_options=parse) as heads:
        try:
            found = heads.schema.names
        except UnicodeDecodeError:
            raise pa.ArrowInvalid("its header is no text in UTF-8") from None
    there = {name: found.count(name) for name in columns}
    for name, times in there.items():
        if times > 1 or (not times and name not in optional):
            raise ColumnError(name)
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict(columns), strings_can_be_null=False,
        include_columns=[name for name in columns if there[name]],
    )  # fmt: skip
    with pyarrow.csv.open_csv(
        pa.BufferReader(data), parse_options=parse, convert_options=convert
    ) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])
