"""Rows that trials have in files of their own, such as requests, read where they are asked for.

A folder of results may come from elsewhere, so a file is hostile until checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tare import extras, files
from tare.applications.rows import LONGEST, MOST_BYTES, Kind, RowsError
from tare.errors import StoreError, TareError
from tare.experiment.store import row_file
from tare.experiment.store.row_file import RefusedError
from tare.experiment.tables import Counted
from tare.render.words import text
from tare.results.columns import Columns, objects

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes that Parquet's footer may take.
_MOST_METADATA = 1 << 24


class TrialFiles:
    """The rows of one kind of an experiment's trials.

    Parameters
    ----------
    folder : Path
        The experiment's.
    kind : Kind
    """

    def __init__(self, folder: Path, kind: Kind) -> None:
        self._folder = folder / kind.name
        self._kind = kind

    def read(self, trial: int, counted: Counted) -> Columns:
        """Read the rows of a trial, in the order in which they were kept.

        Parameters
        ----------
        trial : int
        counted : Counted
            How many there are by the journal, and how many of them failed.

        Returns
        -------
        Columns
            ``trial``, the columns of the kind, and those derived from them.

        Raises
        ------
        StoreError
            If they are missing, or are not what was kept.
        TareError
            If they are in Parquet, as of older versions, and the extra that reads it is missing.
        """
        path = self._folder / f"{trial}{row_file.SUFFIX}"
        try:
            if self._folder.is_symlink():
                raise RefusedError("its folder is a link")
            older = self._folder / f"{trial}.parquet"
            is_older = not path.exists() and older.exists()
            if is_older:
                path = older
                extras.need("pyarrow")
            with files.open_plain(path) as file:
                if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:
                    raise RefusedError(f"it has {size:,} bytes")
                read = _of_parquet if is_older else row_file.read
                return _checked(read(file, self._kind, trial), self._kind, counted)
        except RowsError as error:
            why = text(error.said)
        except RefusedError as error:
            why = str(error)
        except OSError as error:
            why = error.strerror or _short(error)
        except (ValueError, OverflowError, MemoryError) as error:
            why = _short(error)
        raise StoreError(
            f"the {self._kind.name} of trial {trial} cannot be read from {path}: {why}",
            "restore the file from a copy",
        )

    def each(self, counts: Mapping[int, Counted], lost: dict[int, str]) -> Iterator[Columns]:
        """Read trials one after another; why one cannot be read is put into ``lost``."""
        for trial, counted in counts.items():
            try:
                yield self.read(trial, counted)
            except TareError as error:
                lost[trial] = error.message


def _checked(rows: Columns, kind: Kind, counted: Counted) -> Columns:
    if len(rows) != counted.rows:
        raise RefusedError(f"it has {len(rows):,} of {counted.rows:,} {kind.name}")
    kind.check(rows)
    if (failed := kind.failed(rows)) != counted.failed:
        raise RefusedError(
            f"{failed:,} of its {kind.name} failed, by the journal {counted.failed:,}"
        )
    return kind.derived(rows)


def _of_parquet(file: BinaryIO, kind: Kind, trial: int) -> Columns:
    """Read a file of an older version."""
    import pyarrow as pa
    import pyarrow.parquet

    text_type = pa.dictionary(pa.int32(), pa.string())
    types = {"integer": pa.types.is_integer, "flag": pa.types.is_boolean,
             "text": text_type.equals, "number": pa.types.is_floating}  # fmt: skip
    stored = {name: type_ for name, type_ in kind.columns.items() if name not in kind.added}
    texts = [name for name, type_ in stored.items() if type_ == "text"]
    try:
        found = pyarrow.parquet.ParquetFile(
            file, read_dictionary=texts, thrift_string_size_limit=_MOST_METADATA,
            thrift_container_size_limit=_MOST_METADATA,
        )  # fmt: skip
        schema = found.schema_arrow
        if schema.names != ["trial", *stored] or not all(
            types[type_](schema.field(name).type) for name, type_ in stored.items()
        ):
            raise RefusedError(f"its columns are not trial, {', '.join(stored)}")
        groups = [found.metadata.row_group(i) for i in range(found.num_row_groups)]
        if sum(group.total_byte_size for group in groups) > row_file.MOST_UNPACKED:
            raise RefusedError("unpacked, it is too large")
        table = found.read().unify_dictionaries()
        # Indices of dictionaries may be out of range, and texts not UTF-8.
        table.validate(full=True)
        columns = {name: _values(table[name], kind, name) for name in ("trial", *stored)}
    except KeyError as error:
        raise RefusedError(f"its columns lack {error.args[0]!r}") from None
    except pa.ArrowException as error:
        raise RefusedError(_short(error)) from None
    if set(columns["trial"]) != {trial}:
        raise RefusedError(f"it has {kind.name} of another trial")
    absent = np.full(len(columns["trial"]), np.nan)
    return Columns(columns | dict.fromkeys(kind.added, absent))


def _values(column: pa.ChunkedArray, kind: Kind, name: str) -> Any:
    if column.null_count and name not in kind.optional:
        raise RefusedError(f"it has a row without {name}")
    if kind.columns.get(name) != "text":
        return column.to_numpy()
    for chunk in column.chunks[:1]:
        if any(len(one) > LONGEST for one in chunk.dictionary.to_pylist()):
            raise RefusedError(f"{name} has texts of more than {LONGEST} characters")
    return objects(column.to_pylist())


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
