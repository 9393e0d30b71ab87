"""The requests of trials, from the files of their own: read only where somebody asks for them.

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
from tare.applications import requests
from tare.applications.requests import FOLDER, KEPT, LONGEST, MOST_BYTES, RequestsError
from tare.errors import StoreError
from tare.experiment.results import Counted
from tare.render.words import text

#: Of one trial: more than the largest file of a load generator can hold.
MOST_ROWS = 1 << 25
#: Texts that repeat are kept once.
_TEXTS = ("label", "error")
_TEXT = pa.dictionary(pa.int32(), pa.string())
_READ = pa.schema([(f.name, _TEXT if f.name in _TEXTS else f.type) for f in KEPT])
#: Of all columns, unpacked: so many numbers, and texts that hardly repeat.
_MOST_UNPACKED = 1 << 31
#: Of the labels of a file, and of its errors: a trial has few different ones, each kept once.
_MOST_TEXT = 1 << 26
#: Of what a file says of itself.
_MOST_METADATA = 1 << 24


class Requests:
    """The requests of an experiment's trials.

    Parameters
    ----------
    folder : Path
        The experiment's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def read(self, trial: int, counted: Counted) -> pa.Table:
        """Read the requests of a trial, in order of their intended start.

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
                return _read(file, trial, counted)
        except RequestsError as error:
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
            f"the requests of trial {trial} cannot be read from {path}: {why}",
            "restore the file from a copy",
        )

    def each(self, counts: Mapping[int, Counted], lost: dict[int, str]) -> Iterator[pa.Table]:
        """Read trials one after another; why one cannot be read is put into ``lost``."""
        for trial, counted in counts.items():
            try:
                yield self.read(trial, counted)
            except StoreError as error:
                lost[trial] = error.message


class RefusedError(Exception):
    """A file that nobody should read; says why."""


def _read(file: object, trial: int, counted: Counted) -> pa.Table:
    if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:  # type: ignore[attr-defined]
        raise RefusedError(f"it has {size:,} bytes")
    found = pyarrow.parquet.ParquetFile(
        file, read_dictionary=list(_TEXTS), thrift_string_size_limit=_MOST_METADATA,
        thrift_container_size_limit=_MOST_METADATA,
    )  # fmt: skip
    if not found.schema_arrow.equals(_READ, check_metadata=False):
        raise RefusedError(f"its columns are not {', '.join(KEPT.names)}")
    if not 0 < found.metadata.num_rows <= MOST_ROWS:
        raise RefusedError(f"it has {found.metadata.num_rows:,} rows")
    _check_size(found.metadata)
    if found.metadata.num_rows != counted.requests:
        raise RefusedError(f"it has {found.metadata.num_rows:,} of {counted.requests:,} requests")
    table = found.read().unify_dictionaries()
    # That places in a dictionary are there, and texts are UTF-8.
    table.validate(full=True)
    if any(table[name].null_count for name in ("trial", "label")):
        raise RefusedError("a trial or a label is absent")
    if pc.min_max(table["trial"]).as_py() != {"min": trial, "max": trial}:
        raise RefusedError("it has requests of another trial")
    for name in _TEXTS:
        for chunk in table[name].chunks[:1]:
            if (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0) > LONGEST:
                raise RefusedError(f"{name} has texts of more than {LONGEST} characters")
    requests.check(table)
    if (errors := table.num_rows - table["error"].null_count) != counted.errors:
        raise RefusedError(f"{errors:,} of its requests failed, by the journal {counted.errors:,}")
    response = pa.array(requests.response_ns(table), pa.int64())
    return table.add_column(table.column_names.index("label"), "response_ns", response)


def _check_size(file: pyarrow.parquet.FileMetaData) -> None:
    """Raise RefusedError where it would take too much memory."""
    groups = [file.row_group(i) for i in range(file.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > _MOST_UNPACKED:
        raise RefusedError("unpacked, it is too large")
    for name in _TEXTS:
        at = KEPT.names.index(name)
        if sum(group.column(at).total_uncompressed_size for group in groups) > _MOST_TEXT:
            raise RefusedError(f"its texts of {name} are too many")


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
