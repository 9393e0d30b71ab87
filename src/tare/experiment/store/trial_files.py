"""Rows that trials have in files of their own, such as requests, read where they are asked for.

A folder of results may come from elsewhere, so a file is hostile until checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from tare import files
from tare.applications.rows import LONGEST, MOST_BYTES, Kind, RowsError
from tare.errors import StoreError
from tare.experiment.results import Counted
from tare.render.words import text
from tare.results.columns import Columns, objects

#: Of one trial: more than the largest file of a program can hold.
MOST_ROWS = 1 << 25
#: Texts that repeat are kept once.
_TEXT = pa.dictionary(pa.int32(), pa.string())
#: Of all columns, unpacked: so many numbers, and texts that hardly repeat.
_MOST_UNPACKED = 1 << 31
#: Of the texts of a column: a trial has few different ones, each kept once.
_MOST_TEXT = 1 << 26
#: Of what a file says of itself.
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

    def read(self, trial: int, counted: Counted) -> pa.Table:
        """Read the rows of a trial, in the order in which they were kept.

        Parameters
        ----------
        trial : int
        counted : Counted
            How many there are by the journal, and how many of them failed.

        Raises
        ------
        StoreError
            If they are missing, or are not what was kept.
        """
        path = self._folder / f"{trial}.parquet"
        try:
            if self._folder.is_symlink():
                raise RefusedError("its folder is a link")
            with files.open_plain(path) as file:
                return _read(file, self._kind, trial, counted)
        except RowsError as error:
            why = text(error.said)
        except RefusedError as error:
            why = str(error)
        except OSError as error:
            # Arrow raises it with what it found, the kernel with a number.
            why = error.strerror or _short(error)
        except KeyError as error:
            # So Arrow calls a column that is not there.
            why = f"it has no column {error.args[0]!r}"
        except (pa.ArrowException, ValueError, OverflowError, MemoryError) as error:
            why = _short(error)
        raise StoreError(
            f"the {self._kind.name} of trial {trial} cannot be read from {path}: {why}",
            "restore the file from a copy",
        )

    def each(self, counts: Mapping[int, Counted], lost: dict[int, str]) -> Iterator[pa.Table]:
        """Read trials one after another; why one cannot be read is put into ``lost``."""
        for trial, counted in counts.items():
            try:
                yield self.read(trial, counted)
            except StoreError as error:
                lost[trial] = error.message


def columns_of(table: pa.Table) -> Columns:
    """Return the rows of a trial as columns: absent numbers are NaN, absent texts None."""
    return Columns({
        name: objects(column.to_pylist())
        if pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)
        else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    })  # fmt: skip


class RefusedError(Exception):
    """A file that nobody should read; says why."""


def _read(file: object, kind: Kind, trial: int, counted: Counted) -> pa.Table:
    if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:  # type: ignore[attr-defined]
        raise RefusedError(f"it has {size:,} bytes")
    found = pyarrow.parquet.ParquetFile(
        file, read_dictionary=list(kind.texts), thrift_string_size_limit=_MOST_METADATA,
        thrift_container_size_limit=_MOST_METADATA,
    )  # fmt: skip
    read = pa.schema([(f.name, _TEXT if f.name in kind.texts else f.type) for f in kind.kept])
    if not found.schema_arrow.equals(read, check_metadata=False):
        raise RefusedError(f"its columns are not {', '.join(kind.kept.names)}")
    if not 0 < found.metadata.num_rows <= MOST_ROWS:
        raise RefusedError(f"it has {found.metadata.num_rows:,} rows")
    _check_size(found.metadata, kind)
    if found.metadata.num_rows != counted.rows:
        raise RefusedError(f"it has {found.metadata.num_rows:,} of {counted.rows:,} {kind.name}")
    table = found.read().unify_dictionaries()
    # That places in a dictionary are there, and texts are UTF-8.
    table.validate(full=True)
    needed = ["trial", *(name for name in kind.texts if name not in kind.optional)]
    if any(table[name].null_count for name in needed):
        raise RefusedError(f"it has a row without {' or '.join(needed)}")
    if pc.min_max(table["trial"]).as_py() != {"min": trial, "max": trial}:
        raise RefusedError(f"it has {kind.name} of another trial")
    for name in kind.texts:
        for chunk in table[name].chunks[:1]:
            if (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0) > LONGEST:
                raise RefusedError(f"{name} has texts of more than {LONGEST} characters")
    kind.check(table)
    if (failed := kind.failed(table)) != counted.failed:
        raise RefusedError(
            f"{failed:,} of its {kind.name} failed, by the journal {counted.failed:,}"
        )
    return kind.derived(table)


def _check_size(file: pyarrow.parquet.FileMetaData, kind: Kind) -> None:
    """Raise RefusedError where it would take too much memory."""
    groups = [file.row_group(i) for i in range(file.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > _MOST_UNPACKED:
        raise RefusedError("unpacked, it is too large")
    for name in kind.texts:
        at = kind.kept.names.index(name)
        if sum(group.column(at).total_uncompressed_size for group in groups) > _MOST_TEXT:
            raise RefusedError(f"its texts of {name} are too many")


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
