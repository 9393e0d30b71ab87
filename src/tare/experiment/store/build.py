"""From the journal to ``store.duckdb``."""

from __future__ import annotations

import contextlib
import errno
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from tare import files
from tare.errors import StoreError
from tare.experiment import journal, plan_file
from tare.experiment.store import journals
from tare.experiment.store.journals import as_json
from tare.experiment.tables import STORED, Table
from tare.render import data, words
from tare.results.finding import Finding

FILE = "store.duckdb"
#: No extension is ever fetched: the store works without a network.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
#: What a store of this tare consists of: table, column, type.
_LAYOUT = {
    (table.name, column.name, column.type) for table in STORED.values() for column in table.columns
}

Rows: TypeAlias = Sequence[tuple[Any, ...]]


def connect(folder: Path, *, keep: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection to the tables of an experiment, read from its store.

    A store that is absent, damaged, outdated or of another layout is made anew. Where it is not to
    be kept, or cannot be written, as on a full disk or in a folder to read only, the tables are
    held in memory.

    Raises
    ------
    StoreError
        If the folder holds no experiment, or its journal cannot be read.
    """
    files.check_owner(folder)
    plan_file.read(folder)  # says best what is wrong with a folder that is none of tare's
    made_from = origins(folder)
    path = folder / FILE
    with contextlib.ExitStack() as closing:
        # Never the file itself: DuckDB shares one instance of a path within a process, also after
        # another file has taken its place.
        store = closing.enter_context(duckdb.connect(config=_CONFIG))
        if not _attach(store, path, made_from):
            _fill(store, {**journals.read(folder), "origins": list(made_from)})
            if keep:
                with contextlib.suppress(StoreError):
                    _keep(store, path, made_from)
        closing.pop_all()
    return store


def _attach(
    store: duckdb.DuckDBPyConnection, path: Path, origins: list[tuple[str, int, int]]
) -> bool:
    """Attach a file to read from, if it has this layout and was made from these origins."""
    name = str(path).replace("'", "''")
    try:
        # A view or a macro could be of any file that this user may read.
        files.open_plain(path).close()
        store.execute(f"ATTACH '{name}' AS kept (READ_ONLY, TYPE duckdb)")
        store.execute("SET enable_external_access = false")
        views = store.execute(
            "SELECT count(*) FROM duckdb_views() WHERE database_name = 'kept' AND NOT internal"
        ).fetchone()
        columns = store.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = 'kept'"
        ).fetchall()
        made_from = (
            store.execute("SELECT file, bytes, modified_ns FROM kept.origins").fetchall()
            if set(columns) == _LAYOUT and views == (0,)
            else None
        )
        if made_from == origins:
            store.execute("USE kept")
            return True
        store.execute("DETACH kept")
    except (duckdb.Error, OSError):
        pass  # absent, damaged, or no file
    return False


def save_findings(folder: Path, found: Sequence[Finding]) -> None:
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
    rows: dict[str, list[tuple[Any, ...]]] = {"findings": [], "estimates": []}
    for place, finding in enumerate(found, 1):
        rows["findings"].append((
            place, finding.name, words.text(finding.question), finding.verdict,
            words.paragraph(finding.answer), words.paragraph(finding.summary) or None,
            finding.basis, as_json(data.builtins(finding)),
        ))  # fmt: skip
        rows["estimates"] += [
            (
                finding.name, e.name, as_json(e.levels), e.value, e.unit, e.low, e.high,
                e.confidence, e.method, e.n,
            )
            for e in finding.estimates
        ]  # fmt: skip
    with connect(folder) as store:
        made_from = store.sql("SELECT file, bytes, modified_ns FROM origins").fetchall()
        _keep(store, folder / FILE, made_from, rows)


def _keep(
    store: duckdb.DuckDBPyConnection,
    path: Path,
    origins: list[tuple[str, int, int]],
    changed: Mapping[str, Rows] = MappingProxyType({}),
) -> None:
    """Write the tables of a store to a file, some with other rows, unless it would not be whole."""
    try:
        with tempfile.TemporaryDirectory(prefix=".store-", dir=path.parent) as beside:
            fresh = Path(beside) / path.name
            with duckdb.connect(fresh, config=_CONFIG) as target:
                _fill(target, changed, store)
                # What fails at closing is not reported.
                target.execute("CHECKPOINT")
            with duckdb.connect(config=_CONFIG) as reader:
                if not _attach(reader, fresh, origins) or list(fresh.parent.iterdir()) != [fresh]:
                    raise OSError(errno.EIO, "what was written cannot be read back")
            fresh.replace(path)
    except (OSError, duckdb.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(
            f"cannot write {path}: {why}",
            f"free some room, then: tare experiment report {path.parent}   "
            "(the journal holds everything that was measured)",
        ) from error


def origins(folder: Path) -> list[tuple[str, int, int]]:
    """Describe the files that an experiment's tables are made from; journals only ever grow."""
    found = []
    for path in [folder / plan_file.FILE, *journal.files(folder)]:
        try:
            stat = path.lstat()
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if not S_ISREG(stat.st_mode):
            raise StoreError(f"{path} is no plain file, so it is not read")
        found.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return found


def _fill(
    store: duckdb.DuckDBPyConnection,
    rows: Mapping[str, Rows],
    others: duckdb.DuckDBPyConnection | None = None,
) -> None:
    """Make the tables, from rows or from those of another store."""
    for table in STORED.values():
        store.execute(table.ddl)
        if rows.get(table.name):
            given = _arrow(table, rows[table.name])
        elif others is not None and table.name not in rows:
            given = others.table(table.name).to_arrow_table()
        else:
            continue
        store.register("given", given)
        store.execute(f'INSERT INTO "{table.name}" SELECT * FROM given')
        store.unregister("given")


def _arrow(table: Table, rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True)
    try:
        arrays = [
            pa.array(values, type=_ARROW[c.type])
            for c, values in zip(table.columns, columns, strict=True)
        ]
    except (pa.ArrowException, OverflowError) as error:
        raise StoreError(f"the journal's {table.name} are damaged: {error}") from error
    return pa.table(arrays, names=table.names)


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
