"""What an experiment has stored, as files of other tools."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import itertools
import math
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
import numpy as np

from tare import extras, files
from tare.errors import StoreError, Typed, UsageError
from tare.experiment import plan_file
from tare.experiment.plan import VERSION
from tare.experiment.results import Results
from tare.experiment.store.collector import Collector, read
from tare.experiment.tables import STORED, TABLES, Table
from tare.render import data, words
from tare.render.escaping import harmless
from tare.results.columns import Column, Columns, objects
from tare.results.finding import Finding

if TYPE_CHECKING:
    import pyarrow as pa

#: Characters of a damaged value that a message has.
_LONGEST = 200
FORMATS = ("csv", "parquet", "json")
#: What is written to.
Target = IO[bytes] | io.RawIOBase


class TypedRows(NamedTuple):
    """Rows of a table and the types of its columns in ``tables.toml``, such as ``BIGINT``."""

    table: str
    rows: Columns
    types: dict[str, str]


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
    extras.need("pyarrow")
    import duckdb

    found = read(folder)
    path = files.target(destination)
    try:
        with tempfile.TemporaryDirectory(prefix=".tare-", dir=path.parent) as own:
            made = Path(own) / path.name
            with duckdb.connect(made, config={"autoinstall_known_extensions": False}) as to:
                for table in STORED.values():
                    to.execute(table.ddl)
                    to.register("given", _arrow(_stored(found, table.name, conclude)))
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


def write(typed: TypedRows, format: str, destination: str | Path) -> int:
    """Write rows to a file, or to standard output where it is ``-``; return how many."""
    return _write(typed.table, (typed.rows,), typed.types, format, destination)


def _export_fleet(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write the rows of one host after another."""
    hosts = plan_file.hosts(folder)
    if not hosts:
        raise StoreError(f"no host in {folder} has measured anything")
    if table in ("findings", "estimates"):
        raise StoreError(
            f"the {table} of a fleet are in its report",
            Typed(f"tare fleet report {shlex.quote(str(folder))} --json findings.json"),
        )
    if TABLES[table].files is not None:
        raise StoreError(
            f"the {table} of a fleet are exported host by host",
            Typed(f"tare export {shlex.quote(str(hosts[0]))} --table {table}"),
        )
    damaged = plan_file.lost(folder)
    readable = _each_host(hosts, table, damaged)
    first = next(readable, None)
    if first is None:
        name, why = next(iter(damaged.items()))
        raise StoreError(f"no host in {folder} can be read; {harmless(name)}: {why}")
    types = first[1].types
    tables = (_as(types, typed, path) for path, typed in itertools.chain([first], readable))
    written = _write(table, tables, types, format, destination)
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
) -> Iterator[tuple[Path, TypedRows]]:
    """Yield the rows of each host that can be read, and note why others cannot."""
    for path in hosts:
        try:
            rows = _of_host(path, table)
        except StoreError as error:
            damaged[path.name] = error.message
            continue
        yield path, rows


def _of_host(path: Path, table: str) -> TypedRows:
    _, rows, types = _rows(read(path), table, lambda results: ())
    name = "fleet_host" if "host" in rows else "host"
    host = objects([harmless(path.name)] * len(rows))
    return TypedRows(table, rows.inserted(0, **{name: host}), {name: "VARCHAR", **types})


def _as(types: dict[str, str], typed: TypedRows, path: Path) -> Columns:
    if set(typed.types) != set(types):
        differing = sorted(set(typed.types) ^ set(types))
        raise StoreError(
            f"{path} holds another experiment than the host before it: only one of them has "
            f"{', '.join(differing)}",
            Typed(f"tare export {shlex.quote(str(path))}   (it alone)"),
        )
    return typed.rows


def _export_files(folder: Path, table: str, format: str, destination: str | Path) -> int:
    """Write the rows that all good trials have in files, one trial after another."""
    results = read(folder).results()
    lost: dict[int, str] = {}
    kept, counts = {
        "requests": (results.request_files, results.request_counts),
        "tasks": (results.task_files, results.task_counts),
    }[table]
    counted = counts()
    types = {column.name: column.type for column in TABLES[table].columns}
    types |= {results.level_column(table, factor): "VARCHAR" for factor in results.factors}
    each = kept.each(counted, lost) if kept is not None else ()
    written = _write(table, results.with_levels(table, each), types, format, destination)
    if lost:
        raise StoreError(
            f"the {table} of {len(lost)} of {len(counted)} trials are not in {destination}: "
            f"{next(iter(lost.values()))}",
            f"restore the files in {folder / table} from a copy; all others were written",
        )
    return written


def _write(
    table: str,
    parts: Iterable[Columns],
    types: dict[str, str],
    format: str,
    destination: str | Path,
) -> int:
    """Write the parts of a table one after another; return how many rows they have."""
    if format == "parquet":
        extras.need("pyarrow")
    rows = 0
    with _opened(destination) as target:
        to = _WRITERS[format](target, types)
        try:
            for part in parts:
                to.add(_values(TypedRows(table, part, types)))
                rows += len(part)
        finally:
            # A Parquet writer that is not closed writes when it is deleted.
            to.finish()
    return rows


class _Writer(Protocol):
    """Writes rows in one format."""

    def __init__(self, target: Target, types: dict[str, str]) -> None: ...

    def add(self, values: dict[str, list[Any]]) -> None:
        """Write the rows that columns of values make."""

    def finish(self) -> None:
        """Write what ends the file."""


class _Csv:
    """Rows with a header: texts are quoted, lists are JSON, and absent values nothing.

    Python's own writer quotes absent values as it does empty texts.
    """

    def __init__(self, target: Target, types: dict[str, str]) -> None:
        self._target = target
        self._write([[name] for name in types])

    def add(self, values: dict[str, list[Any]]) -> None:
        self._write([*values.values()])

    def _write(self, columns: list[list[Any]]) -> None:
        rows = zip(*(map(_cell, column) for column in columns), strict=True)
        self._target.write("".join(f"{','.join(row)}\n" for row in rows).encode())

    def finish(self) -> None:
        pass


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return msgspec.json.encode(value).decode()
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return '"{}"'.format(text.replace('"', '""'))


class _Json:
    """An array, an object a line."""

    def __init__(self, target: Target, types: dict[str, str]) -> None:
        self._target = target
        self._separator = b"[\n"

    def add(self, values: dict[str, list[Any]]) -> None:
        for row in zip(*values.values(), strict=True):
            own = dict(zip(values, row, strict=True))
            self._target.write(self._separator + msgspec.json.encode(own))
            self._separator = b",\n"

    def finish(self) -> None:
        self._target.write(b"\n]\n" if self._separator == b",\n" else b"[]\n")


class _Parquet:
    """A row group per table."""

    def __init__(self, target: Target, types: dict[str, str]) -> None:
        import pyarrow.parquet

        self._types = types
        self._to = pyarrow.parquet.ParquetWriter(target, _schema(types))

    def add(self, values: dict[str, list[Any]]) -> None:
        import pyarrow as pa

        self._to.write_table(pa.table(values, schema=_schema(self._types)))

    def finish(self) -> None:
        self._to.close()


_WRITERS: dict[str, type[_Writer]] = {"csv": _Csv, "json": _Json, "parquet": _Parquet}


def _schema(types: dict[str, str]) -> pa.Schema:
    """Return the types of columns as Arrow's."""
    import pyarrow as pa

    arrow = {
        "VARCHAR": pa.string(), "JSON": pa.string(), "INTEGER": pa.int32(), "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "VARCHAR[]": pa.list_(pa.string()),
        "DOUBLE[]": pa.list_(pa.float64()),
    }  # fmt: skip
    return pa.schema([(name, arrow[type_]) for name, type_ in types.items()])


def _arrow(typed: TypedRows) -> pa.Table:
    import pyarrow as pa

    return pa.table(_values(typed), schema=_schema(typed.types))


def _values(typed: TypedRows) -> dict[str, list[Any]]:
    """Return the values of each column as Python's own, None where one is absent.

    Raises
    ------
    StoreError
        If a value is not of its column's type, as of a damaged journal.
    """
    found = {}
    for name, type_ in typed.types.items():
        values = _listed(typed.rows[name], type_)
        wanted, most = _PYTHON.get(type_, (list, tuple)), _LARGEST.get(type_, math.inf)
        wrong = next(
            (
                value
                for value in values
                if value is not None
                and (type(value) not in wanted or (type(value) is int and abs(value) > most))
            ),
            None,
        )
        if wrong is not None:
            raise StoreError(
                f"the journal's {typed.table} are damaged: {name} is {repr(wrong)[:_LONGEST]}"
            )
        found[name] = values
    return found


#: Python's types of values, by the types that tables.toml has; all others are lists.
_PYTHON: dict[str, tuple[type, ...]] = {
    "VARCHAR": (str,), "JSON": (str,), "INTEGER": (int,), "BIGINT": (int,),
    "DOUBLE": (float, int), "BOOLEAN": (bool,),
}  # fmt: skip


#: Largest whole numbers of those types.
_LARGEST = {"INTEGER": (1 << 31) - 1, "BIGINT": (1 << 63) - 1}


def _listed(values: Column, type_: str) -> list[Any]:
    if type_ == "JSON":
        return [msgspec.json.encode(value).decode() for value in values]
    own: list[Any] = values.tolist()
    if values.dtype != np.float64:
        return own
    # Absent numbers are NaN in memory.
    whole = type_ in ("INTEGER", "BIGINT")
    return [None if math.isnan(v) else int(v) if whole and v.is_integer() else v for v in own]


def _rows(found: Collector, table: str, conclude: Conclude) -> TypedRows:
    """Return a table; trials and samples with the levels of factors, and without rehearsals."""
    if table not in ("trials", "samples"):
        return _stored(found, table, conclude)
    results = found.results()
    if table == "trials":
        return _typed(STORED["trials"], results.trial_table)
    rows = results.sample_table.table().joined(results.trial_table, "trial")
    return _typed(STORED["samples"], rows)


def _stored(found: Collector, table: str, conclude: Conclude) -> TypedRows:
    """Return a table with the columns that ``tables.toml`` has."""
    made = found.plan
    if table == "experiment":
        text = plan_file.text(found.folder)
        row = (
            VERSION, made.experiment.name, made.experiment.question, made.metric,
            made.experiment.seed, None if text is None else text.decode(errors="replace"), made,
        )  # fmt: skip
        return _typed(STORED[table], Columns.of_rows(STORED[table].names, [row]))
    if table not in ("findings", "estimates"):
        return _typed(STORED[table], found.table(table))
    results = found.results()
    rows = _FINDINGS[table](conclude(results) if results.counted else ())
    return _typed(STORED[table], Columns.of_rows(STORED[table].names, rows))


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


def _typed(table: Table, rows: Columns) -> TypedRows:
    """Return rows with the types that ``tables.toml`` has; levels of factors are texts."""
    known = {column.name: column.type for table in (STORED["trials"], table) for column in
             table.columns}  # fmt: skip
    return TypedRows(table.name, rows, {name: known.get(name, "VARCHAR") for name in rows.names})


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
