"""From the journal to ``store.duckdb``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from tare import journal, plan_file
from tare.errors import StoreError
from tare.store import journals
from tare.store.journals import as_json
from tare.store.schema import TABLES

FILE = "store.duckdb"
#: No extension is ever fetched: the store works without a network.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open the store of an experiment for reading, made anew where it is not fresh.

    Where the folder cannot be written, the tables are held in memory instead.

    Raises
    ------
    StoreError
        If the folder holds no experiment, or its journal cannot be read.
    """
    plan_file.read(folder)  # says best what is wrong with a folder that is none of tare's
    origins = _origins(folder)
    path = folder / FILE
    try:
        store = duckdb.connect(path, read_only=True, config=_CONFIG)
        made_from = store.sql("SELECT file, bytes, modified_ns FROM origins").fetchall()
        if made_from == origins and _tables(store) == {table.name for table in TABLES}:
            return store
        store.close()
    except duckdb.Error:
        pass  # absent, of another layout, or damaged: made anew
    rows = journals.read(folder)
    rows["origins"] = list(origins)
    if not os.access(folder, os.W_OK):
        memory = duckdb.connect(config=_CONFIG)
        _fill(memory, rows)
        return memory
    with _replacing(path) as fresh, duckdb.connect(fresh, config=_CONFIG) as store:
        _fill(store, rows)
    return duckdb.connect(path, read_only=True, config=_CONFIG)


def _tables(store: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in store.sql("SELECT table_name FROM duckdb_tables()").fetchall()}


def save_findings(folder: Path, found: Sequence[msgspec.Struct]) -> None:
    """Put the answers of an experiment into its store, in place of earlier ones.

    Parameters
    ----------
    folder : Path
        The experiment's folder.
    found : sequence of Finding
        In reading order.

    Raises
    ------
    StoreError
        If the store cannot be written.
    """
    connect(folder).close()
    path = folder / FILE
    rows: dict[str, list[tuple[Any, ...]]] = {"findings": [], "estimates": []}
    for place, finding in enumerate(msgspec.to_builtins(found), 1):
        rows["findings"].append((
            place, finding["name"], finding["question"], finding["verdict"], finding["answer"],
            finding["summary"], finding["basis"], as_json(finding),
        ))  # fmt: skip
        rows["estimates"] += [
            (
                finding["name"], e["name"], as_json(e["levels"]), e["value"], e["unit"], e["low"],
                e["high"], e["confidence"], e["method"], e["n"],
            )
            for e in finding["estimates"]
        ]  # fmt: skip
    with _replacing(path) as fresh:
        shutil.copyfile(path, fresh)
        with duckdb.connect(fresh, config=_CONFIG) as store:
            for name in rows:
                store.execute(f"DELETE FROM {name}")
            _insert(store, rows)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Give a name to write to; what is there in the end takes the place of ``path``, whole."""
    try:
        with tempfile.TemporaryDirectory(prefix=".store-", dir=path.parent) as beside:
            fresh = Path(beside) / path.name
            yield fresh
            fresh.replace(path)
    except (OSError, duckdb.IOException) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(
            f"cannot write {path}: {why}", "free some room; the journal holds everything"
        ) from error


def _origins(folder: Path) -> list[tuple[str, int, int]]:
    """Describe the files that the store is made from; journals only ever grow."""
    found = []
    for path in [folder / plan_file.FILE, *journal.files(folder)]:
        stat = path.stat()
        found.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return found


def _fill(store: duckdb.DuckDBPyConnection, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    for table in TABLES:
        store.execute(table.ddl)
    _insert(store, rows)


def _insert(store: duckdb.DuckDBPyConnection, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    for table in TABLES:
        if not rows.get(table.name):
            continue
        columns = zip(*rows[table.name], strict=True)
        try:
            arrays = [
                pa.array(values, type=_ARROW[c.type])
                for c, values in zip(table.columns, columns, strict=True)
            ]
        except (pa.ArrowException, OverflowError) as error:
            raise StoreError(f"the journal's {table.name} are damaged: {error}") from error
        given = pa.table(arrays, names=[c.name for c in table.columns])
        store.register("given", given)
        store.execute(f'INSERT INTO "{table.name}" SELECT * FROM given')
        store.unregister("given")


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
