"""What an experiment has stored, as files of other tools."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tare import extras, files
from tare.errors import StoreError, UsageError
from tare.experiment import plan_file
from tare.experiment.plan import VERSION
from tare.experiment.results import Results
from tare.experiment.store.collector import Collector, read
from tare.experiment.tables import STORED, TABLES, Table
from tare.render import data, words
from tare.render.escaping import harmless
from tare.results.columns import Column, Columns
from tare.results.finding import Finding

FORMATS = ("csv", "parquet", "json")
#: What is written to.
Target = IO[bytes] | io.RawIOBase


#: Works out the answers of an experiment.
Conclude = Callable[[Results], Sequence[Finding]]


def export(
    folder: Path, table: str, format: str, destination: str | Path, conclude: Conclude
) -> int:
    """Write a table of an experiment as CSV, Parquet or JSON (an array, an object a line).

    Parameters
    ----------
    folder : Path
        The experiment's folder, or that of a fleet: rows of all hosts then, and a column ``host``
        (``fleet_host`` where the table has another one).
    table : str
        Name of a table. ``trials``, ``samples`` and ``requests`` have one column a factor and
        leave out what only rehearsed.
    format : str
        ``csv``, ``parquet`` or ``json``.
    destination : str or Path
        File to write; ``-`` is standard output.
    conclude : callable
        Gives the findings, where they are exported.

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
    return write(_rows(read(folder), table, conclude), format, destination)


def database(folder: Path, destination: Path, conclude: Conclude) -> None:
    """Write all tables of an experiment into a DuckDB file.

    Raises
    ------
    StoreError
        If the folder cannot be read, or the file cannot be written.
    """
    extras.need("duckdb")
    import duckdb

    found = read(folder)
    path = files.target(destination)
    try:
        with tempfile.TemporaryDirectory(prefix=".tare-", dir=path.parent) as own:
            made = Path(own) / path.name
            with duckdb.connect(made, config={"autoinstall_known_extensions": False}) as to:
                for table in STORED.values():
                    to.execute(table.ddl)
                    to.register("given", _stored(found, table.name, conclude))
                    to.execute(f'INSERT INTO "{table.name}" SELECT * FROM given')
                    to.unregister("given")
            made.replace(path)
    except (OSError, duckdb.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"cannot write {path}: {why}", "choose another --file FILE") from error


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
    rows = _rows(read(path), table, lambda results: ())
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
    results = read(folder).results()
    lost: dict[int, str] = {}
    kept, counts = {
        "requests": (results.request_files, results.request_counts),
        "tasks": (results.task_files, results.task_counts),
    }[table]
    counted = counts()
    own = [(column.name, _ARROW[column.type]) for column in TABLES[table].columns]
    levels = [(results.level_column(table, factor), pa.string()) for factor in results.factors]
    schema = pa.schema([*own, *levels])
    each = kept.each(counted, lost) if kept is not None else ()
    tables = (rows.cast(schema) for rows in results.with_levels(table, each))
    with _opened(destination) as target:
        written = _write(tables, schema, format, target)
    if lost:
        raise StoreError(
            f"the {table} of {len(lost)} of {len(counted)} trials are not in {destination}: "
            f"{next(iter(lost.values()))}",
            f"restore the files in {folder / table} from a copy; all others were written",
        )
    return written


#: The types that tables.toml has.
_ARROW = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
    "DOUBLE[]": pa.list_(pa.float64()),
}


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


def _rows(found: Collector, table: str, conclude: Conclude) -> pa.Table:
    """Return a table; trials and samples with the levels of factors, and without rehearsals."""
    if table not in ("trials", "samples"):
        return _stored(found, table, conclude)
    results = found.results()
    if table == "trials":
        return _arrow(STORED["trials"], results.trial_table)
    rows = results.sample_table.table().joined(results.trial_table, "trial")
    return _arrow(STORED["samples"], rows)


def _stored(found: Collector, table: str, conclude: Conclude) -> pa.Table:
    """Return a table with the columns that ``tables.toml`` has."""
    made = found.plan
    if table == "experiment":
        text = plan_file.text(found.folder)
        row = (
            VERSION, made.experiment.name, made.experiment.question, made.metric,
            made.experiment.seed, None if text is None else text.decode(errors="replace"), made,
        )  # fmt: skip
        return _arrow(STORED[table], Columns.of_rows(STORED[table].names, [row]))
    if table not in ("findings", "estimates"):
        return _arrow(STORED[table], found.table(table))
    results = found.results()
    rows = _FINDINGS[table](conclude(results) if results.good else ())
    return _arrow(STORED[table], Columns.of_rows(STORED[table].names, rows))


def _findings(some: Sequence[Finding]) -> list[tuple[Any, ...]]:
    return [
        (
            place, one.name, words.text(one.question), one.verdict, words.paragraph(one.answer),
            words.paragraph(one.summary) or None, one.basis, data.builtins(one),
        )
        for place, one in enumerate(some, 1)
    ]  # fmt: skip


def _estimates(some: Sequence[Finding]) -> list[tuple[Any, ...]]:
    return [
        (
            finding.name, e.name, e.levels, e.value, e.unit, e.low, e.high, e.confidence, e.method,
            e.n,
        )
        for finding in some
        for e in finding.estimates
    ]  # fmt: skip


_FINDINGS = {"findings": _findings, "estimates": _estimates}


def _arrow(table: Table, rows: Columns) -> pa.Table:
    """Return a table with the types that ``tables.toml`` has; levels of factors are texts."""
    types = {column.name: column.type for table in (STORED["trials"], table) for column in
             table.columns}  # fmt: skip
    try:
        return pa.table({
            name: _array(rows[name], types.get(name, "VARCHAR")) for name in rows.names
        })  # fmt: skip
    except (pa.ArrowException, OverflowError) as error:
        raise StoreError(f"the journal's {table.name} are damaged: {error}") from error


def _array(values: Column, kind: str) -> pa.Array:
    if kind == "JSON":
        return pa.array([msgspec.json.encode(value).decode() for value in values], pa.string())
    if values.dtype == object:
        return pa.array(values.tolist(), _ARROW[kind])
    # Absent values are NaN in memory and null in the file.
    return pa.array(values, _ARROW[kind], from_pandas=True)


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
