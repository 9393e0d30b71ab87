"""Rows of a Parquet file, read through pyarrow batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from tare import extras
from tare.errors import InputError
from tare.readers.csv_rows import MOST_COLUMNS
from tare.readers.rows import Chunk, Column, Levels, Quantities, Want, consecutive
from tare.readers.series import FloatArray
from tare.readers.text_file import shown
from tare.results.message import Message

if TYPE_CHECKING:
    import pyarrow as pa

DType = TypeVar("DType", bound=np.generic)

MAGIC = b"PAR1"
#: Most bytes of the description at a file's end; that of 10,000 columns is about 1 MiB a group.
_MOST_FOOTER_BYTES = 64 << 20
_BATCH = 1 << 20
_REDO = "let the tool that wrote it write it again"


class ParquetRows:
    """A long table as Parquet."""

    place = "row"

    def __init__(self, file: Path) -> None:
        extras.need("pyarrow")
        import pyarrow as pa
        import pyarrow.parquet as pq

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

    def sample(self) -> list[list[str]]:
        """Return the cells of the first rows, by column."""
        for batch in self._batches(list(range(len(self.names))), 1000):
            return [_listed(_texts(column)) for column in batch.columns]
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
        import pyarrow as pa

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


def _is_number(type_: pa.DataType) -> bool:
    """Whether a column holds numbers, which truth values are not."""
    import pyarrow as pa

    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_duration(type_)
    )


def _as_wanted(column: pa.Array, want: Want) -> Column:
    import pyarrow as pa

    type_ = column.type
    is_int64 = pa.types.is_integer(type_) and not pa.types.is_uint64(type_)
    if want == "integer" and is_int64 and not column.null_count:
        return _view(column.cast(pa.int64()), np.int64)
    if want in {"number", "time"} and _is_number(type_):
        numbers, absent = _floats(column)
        return numbers if want == "time" else _quantities(numbers, absent)
    if want == "time" and pa.types.is_timestamp(type_):
        stamps = column.cast(pa.timestamp("ns"), safe=False).cast(pa.int64())
        nat = np.datetime64("NaT").astype(np.int64)
        return _view(stamps.fill_null(int(nat)), np.int64).view("datetime64[ns]")
    texts = _texts(column)
    if want in {"number", "time"}:
        return _listed(texts)
    found = texts.dictionary_encode()
    return Levels(_view(found.indices, np.int32), _listed(found.dictionary))


def _quantities(numbers: FloatArray, absent: NDArray[np.bool_]) -> Quantities:
    """Return numbers in which NaN values of the file are distinct from absent cells."""
    written = np.isnan(numbers) & ~absent
    return Quantities(
        numbers, Levels(written.astype(np.int32), ["", "nan"]) if written.any() else None
    )


def _floats(column: pa.Array) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return numbers, durations in seconds, and which are absent; those are NaN."""
    import pyarrow as pa

    scale = 1.0
    if pa.types.is_duration(column.type):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        column = column.cast(pa.int64())
    column = column.cast(pa.float64(), safe=False)
    if not column.null_count:
        return _view(column, np.float64) / scale, np.zeros(len(column), bool)
    absent = np.asarray(column.is_null())
    return _view(column.fill_null(np.nan), np.float64) / scale, absent


def _view(column: pa.Array, dtype: type[DType]) -> NDArray[DType]:
    """Return numbers without nulls as NumPy sees them; Arrow's own conversion imports pandas."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype)[column.offset : column.offset + len(column)]


def _texts(column: pa.Array) -> pa.Array:
    """Write values as text; what has none, such as a list, is as if absent."""
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()).fill_null("")
    except (pa.ArrowException, pa.ArrowNotImplementedError):
        return pa.array([""] * len(column))


def _listed(texts: pa.Array) -> list[str]:
    listed: list[str] = texts.to_pylist()
    return listed
