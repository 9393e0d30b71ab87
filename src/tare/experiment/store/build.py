"""From the journal to ``store.duckdb``."""

from __future__ import annotations

import contextlib
import errno
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
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
#: What a store of this tare consists of: statement that makes a table, number of its columns.
#: DuckDB quotes some names in the statement. The number rules out a name that imitates columns.
_LAYOUT = {
    (
        f"CREATE TABLE {table.name}({', '.join(f'{c.name} {c.type}' for c in table.columns)});",
        len(table.columns),
    )
    for table in STORED.values()
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
    with contextlib.suppress(OSError):
        files.open_plain(path).close()
        with contextlib.ExitStack() as closing:
            # Never the file itself: DuckDB shares one instance of a path within a process, also
            # after another file has taken its place.
            store = closing.enter_context(duckdb.connect(config=_CONFIG))
            if _attach(store, path, made_from):
                closing.pop_all()
                return store
    rows: dict[str, Rows] = {**journals.read(folder), "origins": list(made_from)}
    if keep:
        with contextlib.suppress(StoreError):
            return _keep(path, made_from, rows)
    with contextlib.ExitStack() as closing:
        store = closing.enter_context(duckdb.connect(config=_CONFIG))
        _fill(store, rows)
        closing.pop_all()
    return store


def _attach(
    store: duckdb.DuckDBPyConnection, path: Path, origins: list[tuple[str, int, int]]
) -> bool:
    """Attach a file to read from, if it has this layout and was made from these origins.

    Other files are out of the connection's reach afterwards.
    """
    try:
        store.execute(f"ATTACH {_quoted(path)} AS kept (READ_ONLY, TYPE duckdb)")
        store.execute("SET enable_external_access = false")
        # A view or a macro could be of any file that this user may read. The statement names the
        # schema unless it is the main one, in which no view has the name of a table.
        tables = store.execute(
            "SELECT replace(sql, '\"', ''), column_count FROM duckdb_tables() "
            "WHERE database_name = 'kept'"
        ).fetchall()
        if set(tables) == _LAYOUT and len(tables) == len(_LAYOUT):
            store.execute("USE kept")
            made_from = store.execute("SELECT file, bytes, modified_ns FROM origins").fetchall()
            return made_from == origins
    except (duckdb.Error, OSError):
        pass  # damaged, or no file
    return False


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


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
        _keep(folder / FILE, made_from, rows, store).close()


def _keep(
    path: Path,
    origins: list[tuple[str, int, int]],
    rows: Mapping[str, Rows],
    others: duckdb.DuckDBPyConnection | None = None,
) -> duckdb.DuckDBPyConnection:
    """Write tables to a file, unless it would not be whole, and return a connection to them."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".store-", dir=path.parent) as beside,
            contextlib.ExitStack() as closing,
        ):
            fresh = Path(beside) / path.name
            # One instance writes and reads, since each takes as long to make as a small file.
            store = closing.enter_context(duckdb.connect(config=_CONFIG))
            store.execute(f"ATTACH {_quoted(fresh)} AS fresh (TYPE duckdb); USE fresh; BEGIN")
            _fill(store, rows, others)
            # What fails at closing is not reported.
            store.execute("COMMIT; CHECKPOINT; USE memory; DETACH fresh")
            if not _attach(store, fresh, origins) or list(fresh.parent.iterdir()) != [fresh]:
                raise OSError(errno.EIO, "what was written cannot be read back")
            fresh.replace(path)
            closing.pop_all()
            return store
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
