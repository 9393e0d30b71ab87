"""A table of an experiment, for other tools."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tare.errors import StoreError
from tare.experiment.store.build import connect
from tare.experiment.store.load import load
from tare.experiment.tables import TABLES

FORMATS = ("csv", "parquet", "json")


def export(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write a table of an experiment as CSV, Parquet or JSON (an array, an object a line).

    Parameters
    ----------
    folder : Path
        The experiment's folder.
    table : str
        Name of a table of the store. ``trials`` and ``samples`` have one column a factor and
        leave out what only rehearsed.
    format : str
        ``csv``, ``parquet`` or ``json``.
    destination : str or Path
        File to write; ``-`` is standard output.

    Returns
    -------
    int
        Rows.

    Raises
    ------
    StoreError
        If there is no such table or format, or the file cannot be written.
    """
    if table not in TABLES:
        raise StoreError(f"there is no table {table!r}", f"choose one of {', '.join(TABLES)}")
    if format not in FORMATS:
        raise StoreError(f"there is no format {format!r}", f"choose one of {', '.join(FORMATS)}")
    rows = _rows(folder, table)
    with _opened(destination) as target:
        if format == "csv":
            pyarrow.csv.write_csv(_flat(rows), target)
        elif format == "parquet":
            pyarrow.parquet.write_table(rows, target)
        else:
            _write_json(rows, target)
    return int(rows.num_rows)


def _rows(folder: Path, table: str) -> pa.Table:
    if table in ("trials", "samples"):
        results = load(folder)
        frame = results.trials() if table == "trials" else results.samples()
        return pa.Table.from_pandas(frame, preserve_index=False)
    with connect(folder) as store:
        return store.sql(f'SELECT * FROM "{table}"').to_arrow_table()


def _flat(rows: pa.Table) -> pa.Table:
    """Write lists as JSON, since CSV has none."""
    for i, field in enumerate(rows.schema):
        if pa.types.is_list(field.type):
            texts = [msgspec.json.encode(v).decode() for v in rows.column(i).to_pylist()]
            rows = rows.set_column(i, field.name, pa.array(texts, pa.string()))
    return rows


def _write_json(rows: pa.Table, target: IO[bytes]) -> None:
    separator = b"[\n"
    for batch in rows.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            target.write(separator + msgspec.json.encode(row))
            separator = b",\n"
    target.write(b"\n]\n" if separator == b",\n" else b"[]\n")


@contextlib.contextmanager
def _opened(destination: str | Path) -> Iterator[IO[bytes]]:
    if destination == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with Path(destination).open("wb") as target:
            yield target
    except OSError as error:
        raise StoreError(f"cannot write {destination}: {error.strerror}") from error
