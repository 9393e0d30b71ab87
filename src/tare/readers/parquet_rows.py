"""Rows of a Parquet file, read through pyarrow batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tare.errors import InputError
from tare.readers.csv_rows import MOST_COLUMNS
from tare.readers.rows import Chunk, Want, consecutive
from tare.readers.text_file import shown
from tare.results.message import Message

MAGIC = b"PAR1"
#: Most bytes of the description at a file's end; that of 10,000 columns is about 1 MiB a group.
_MOST_FOOTER_BYTES = 64 << 20
_BATCH = 1 << 20
_REDO = "let the tool that wrote it write it again"


class ParquetRows:
    """A long table as Parquet."""

    place = "row"

    def __init__(self, file: Path) -> None:
        self._file = file
        _check_footer(file)
        try:
            self._source = pq.ParquetFile(file)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(file, error) from error
        self._schema: pa.Schema = self._source.schema_arrow
        self.names = tuple(str(name) for name in self._schema.names)
        if len(self.names) > MOST_COLUMNS:
            raise InputError(
                f"{file} has {len(self.names):,} columns, more than {MOST_COLUMNS:,}",
                "a long table has one value a row: reshape it",
            )
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"{file} has two columns {shown(twice)}", "rename one of them")
        if self._source.metadata.num_rows == 0:
            raise InputError(f"{file} has no rows", _REDO)

    @property
    def notes(self) -> list[Message]:
        """Nothing: Parquet says what it holds."""
        return []

    def sample(self) -> Chunk:
        """Return the first rows as text."""
        for batch in self._batches(list(range(len(self.names))), 1000):
            columns = {
                i: batch.column(i) if _plain(batch.column(i).type) else _texts(batch.column(i))
                for i in range(len(self.names))
            }
            return Chunk(columns, batch.num_rows, consecutive(1))
        raise InputError(f"{self._file} has no rows", _REDO)

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all rows, with the columns that are wanted."""
        first = 1
        order = sorted(wanted)
        for batch in self._batches(order, _BATCH):
            columns = {i: _as_wanted(batch.column(at), wanted[i]) for at, i in enumerate(order)}
            yield Chunk(columns, batch.num_rows, consecutive(first))
            first += batch.num_rows

    def _batches(self, indices: list[int], rows: int) -> Iterator[pa.RecordBatch]:
        names = [self.names[i] for i in indices]
        try:
            batches = self._source.iter_batches(rows, columns=names)
            for batch in batches:
                yield batch.select(names)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(self._file, error) from error


def _check_footer(file: Path) -> None:
    """Refuse a description of the columns that would take long to read."""
    try:
        with file.open("rb") as source:
            size = source.seek(0, 2)
            source.seek(max(0, size - 8))
            end = source.read(8)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", "name a table") from error
    if size < 12 or end[4:] not in (MAGIC, b"PARE"):
        raise InputError(f"{file} ends early: there is no {MAGIC.decode()} at its end", _REDO)
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER_BYTES:
        raise InputError(
            f"{file} describes its columns in more than {_MOST_FOOTER_BYTES >> 20} MiB, as a"
            " table of very many columns does",
            "a long table has one value a row: reshape it",
        )


def _damaged(file: Path, error: Exception) -> InputError:
    return InputError(f"{file} is no whole Parquet file: {shown(str(error), 200)}", _REDO)


def _plain(type_: pa.DataType) -> bool:
    """Whether a column holds numbers, which truth values are not."""
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_duration(type_)
    )


def _as_wanted(column: pa.Array, want: Want) -> pa.Array:
    type_ = column.type
    if want == "level":
        return _texts(column).dictionary_encode()
    if pa.types.is_duration(type_):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[type_.unit]
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), scale)
    if want == "integer" and pa.types.is_integer(type_) and not pa.types.is_uint64(type_):
        return column.cast(pa.int64())
    if want == "number" and _plain(type_):
        return column.cast(pa.float64(), safe=False)
    if want == "number" and pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("ns"), safe=False)
    return _texts(column)


def _texts(column: pa.Array) -> pa.Array:
    """Write values as text; what has none, such as a list, is as if absent."""
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return pc.fill_null(column.cast(pa.string()), "")
    except (pa.ArrowException, pa.ArrowNotImplementedError):
        return pa.array([""] * len(column))
