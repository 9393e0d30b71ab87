"""A table of an experiment, for other tools."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tare import files
from tare.errors import StoreError, UsageError
from tare.experiment import plan_file
from tare.experiment.store.build import connect
from tare.experiment.store.load import load
from tare.experiment.tables import TABLES
from tare.render.escaping import harmless

FORMATS = ("csv", "parquet", "json")
#: What is written to.
Target = IO[bytes] | io.RawIOBase


def export(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write a table of an experiment as CSV, Parquet or JSON (an array, an object a line).

    Parameters
    ----------
    folder : Path
        The experiment's folder, or that of a fleet: rows of all hosts then, and a column ``host``
        (``fleet_host`` where the table has another one).
    table : str
        Name of a table of the store. ``trials``, ``samples`` and ``requests`` have one column a
        factor and leave out what only rehearsed.
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
        If there is no such table or format, or the file cannot be written; or, once all others
        are written, if the requests of some trials, or a host of a fleet, cannot be read.
    """
    if table not in TABLES:
        near = difflib.get_close_matches(table, TABLES, n=1)
        meant = f"; {near[0]} is meant?" if near else ""
        raise StoreError(
            f"there is no table {table!r}{meant}", f"choose one of {', '.join(TABLES)}"
        )
    if format not in FORMATS:
        raise StoreError(f"there is no format {format!r}", f"choose one of {', '.join(FORMATS)}")
    if plan_file.is_fleet(folder):
        return _export_fleet(folder, table, format, destination)
    if TABLES[table].files is not None:
        return _export_files(folder, table, format, destination)
    return write(_rows(folder, table), format, destination)


def format_of(file: str, example: str) -> str:
    """Return the format that a file's name asks for; ``-`` is CSV.

    Raises
    ------
    UsageError
        If it is none, with the option that is typed for an example.
    """
    format = "csv" if file == "-" else Path(file).suffix.lower().removeprefix(".")
    if format not in FORMATS:
        raise UsageError(
            f"{file} ends in none of {', '.join(f'.{one}' for one in FORMATS)}", example
        )
    return format


def write(rows: pa.Table, format: str, destination: str | Path) -> int:
    """Write rows to a file, or to standard output where it is ``-``; return how many."""
    with _opened(destination) as target:
        return _write((rows,), rows.schema, format, target)


def _export_fleet(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write the rows of one host after another."""
    hosts = plan_file.hosts(folder)
    if not hosts:
        raise StoreError(f"no host in {folder} has measured anything")
    if table in ("findings", "estimates"):
        raise StoreError(
            f"the {table} of a fleet are in its report",
            f"tare fleet report {folder} --json findings.json",
        )
    if TABLES[table].files is not None:
        raise StoreError(
            f"the {table} of a fleet are exported host by host",
            f"tare export {hosts[0]} --table {table}",
        )
    damaged = plan_file.lost(folder)
    readable = _each_host(hosts, table, damaged)
    first = next(readable, None)
    if first is None:
        name, why = next(iter(damaged.items()))
        raise StoreError(f"no host in {folder} can be read; {harmless(name)}: {why}")
    # What all trials of the first host lack has no type there; it is text.
    schema = pa.schema([
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field
        for field in first[1].schema
    ]).remove_metadata()  # fmt: skip
    tables = (_as(schema, rows, path) for path, rows in itertools.chain([first], readable))
    with _opened(destination) as target:
        written = _write(tables, schema, format, target)
    if damaged:
        name, why = next(iter(damaged.items()))
        raise StoreError(
            f"{len(damaged)} of {len({*damaged, *(path.name for path in hosts)})} hosts are not in "
            f"{destination}; {harmless(name)}: {why}",
            "restore their folders from a copy; all other hosts were written",
        )
    return written


def _each_host(
    hosts: Sequence[Path], table: str, damaged: dict[str, str]
) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the rows of each host that can be read, and note why others cannot."""
    for path in hosts:
        try:
            rows = _of_host(path, table)
        except StoreError as error:
            damaged[path.name] = error.message
            continue
        yield path, rows


def _of_host(path: Path, table: str) -> pa.Table:
    rows = _rows(path, table)
    name = "fleet_host" if "host" in rows.column_names else "host"
    # One text for all rows.
    return rows.add_column(0, name, pa.repeat(pa.scalar(harmless(path.name)), rows.num_rows))


def _as(schema: pa.Schema, rows: pa.Table, path: Path) -> pa.Table:
    try:
        return rows.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise StoreError(
            f"{path} holds another experiment than the host before it: {error}",
            f"tare export {path}   (it alone)",
        ) from error


def _export_files(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write the rows that all good trials have in files, one trial after another."""
    results = load(folder)
    lost: dict[int, str] = {}
    kept, counts = {
        "requests": (results.request_files, results.request_counts),
        "tasks": (results.task_files, results.task_counts),
    }[table]
    counted = counts()
    assert kept is not None
    own = [(column.name, _TYPES[column.type]) for column in TABLES[table].columns]
    levels = [(results.level_column(table, factor), pa.string()) for factor in results.factors]
    schema = pa.schema([*own, *levels])
    tables = (rows.cast(schema) for rows in results.with_levels(table, kept.each(counted, lost)))
    with _opened(destination) as target:
        written = _write(tables, schema, format, target)
    if lost:
        raise StoreError(
            f"the {table} of {len(lost)} of {len(counted)} trials are not in {destination}: "
            f"{next(iter(lost.values()))}",
            f"restore the files in {folder / table} from a copy; all others were written",
        )
    return written


#: Types of DuckDB, as tables.toml has them for such files.
_TYPES = {
    "BIGINT": pa.int64(), "INTEGER": pa.int32(), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_(),
}  # fmt: skip


def _write(tables: Iterable[pa.Table], schema: pa.Schema, format: str, target: Target) -> int:
    """Write tables one after another; return how many rows they have."""
    rows = 0
    to: Any
    with contextlib.ExitStack() as closing:
        if format == "csv":
            to = pyarrow.csv.CSVWriter(target, _flat(schema.empty_table()).schema)
        elif format == "parquet":
            to = pyarrow.parquet.ParquetWriter(target, schema)
        else:
            to = _JsonWriter(target)
        closing.enter_context(to)
        for table in tables:
            to.write_table(_flat(table) if format == "csv" else table)
            rows += table.num_rows
    return rows


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


class _JsonWriter:
    """Writes an array, an object a line."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._separator = b"[\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failed: object) -> None:
        if failed[0] is None:
            self._target.write(b"\n]\n" if self._separator == b",\n" else b"[]\n")

    def write_table(self, rows: pa.Table) -> None:
        for batch in rows.to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                self._target.write(self._separator + msgspec.json.encode(row))
                self._separator = b",\n"


class _Terminal(io.RawIOBase):
    """What a terminal is shown of a table: texts of strangers, such as labels, order nothing."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        # Pieces may end inside of a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        text = self._decoder.decode(bytes(piece))
        self._target.write(harmless(text).encode())
        return len(piece)


@contextlib.contextmanager
def _opened(destination: str | Path) -> Iterator[Target]:
    if destination == "-":
        sys.stdout.flush()
        yield _Terminal(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with files.replacing(files.target(Path(destination)), "choose another --file FILE") as target:
        yield target
