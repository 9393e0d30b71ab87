"""From the journal to ``store.duckdb``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from tare import journal, plan, plan_file, record
from tare.errors import StoreError
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
    rows = _read(folder)
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
            finding["summary"], finding["basis"], _json(finding),
        ))  # fmt: skip
        rows["estimates"] += [
            (
                finding["name"], e["name"], _json(e["levels"]), e["value"], e["unit"], e["low"],
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


def _read(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Read a folder into rows, in the order of the columns of each table."""
    made = plan_file.read(folder)
    file = folder / "experiment.toml"
    asked = made.experiment
    text = file.read_text(errors="replace") if file.exists() else None
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    rows["experiment"] = [(
        plan.VERSION, asked.name, asked.question, made.metric, asked.seed, text, _json(made)
    )]  # fmt: skip
    begun: set[int] = set()
    for path in journal.files(folder):
        _Session(path, rows, begun).read()
    return rows


#: Factors that have a column of their own; of the others, ``levels`` tells.
_FACTORS = ("workload", "platform", "workers", "pinning", "load", "size")


class _Session:
    """Sorts the lines of one journal into rows."""

    def __init__(self, path: Path, rows: dict[str, list[tuple[Any, ...]]], begun: set[int]) -> None:
        self.path = path
        self.rows = rows
        #: Trials of this and all earlier sessions.
        self.begun = begun
        self.session: journal.Session | None = None
        self.closed: journal.SessionEnd | None = None
        self.starts: dict[int, journal.TrialStart] = {}
        self.ends: dict[int, journal.TrialEnd] = {}
        self.instances: dict[str, tuple[journal.InstanceStart, journal.InstanceEnd | None]] = {}

    def read(self) -> None:
        samples = self.rows["samples"]
        for number, line in enumerate(journal.read(self.path), 1):
            if isinstance(line, record.Sample):
                if line.trial not in self.starts:
                    raise self._damaged(number, f"trial {line.trial} has not begun")
                samples.append((
                    line.trial, line.worker, line.iteration, line.phase, line.metric,
                    line.source, line.value,
                ))  # fmt: skip
            else:
                self._sort(number, line)
        if self.session is not None:
            self._finish(self.session)

    def _sort(self, number: int, line: journal.Line) -> None:
        session = self.session.session if self.session else None
        match line:
            case journal.Session():
                if self.session is not None:
                    raise self._damaged(number, "a second session begins")
                self.session = line
            case journal.SessionEnd():
                self.closed = line
            case journal.MachineFact():
                self.rows["facts"].append((
                    session, line.instance, line.platform, line.name, _json(line.value), line.unit,
                    line.source,
                ))  # fmt: skip
            case journal.InstanceStart() | journal.InstanceEnd() | journal.ClockCheck():
                self._sort_instance(session, line)
            case journal.MachineFigure():
                self.rows["figures"].append((session, *msgspec.structs.astuple(line)))
            case journal.TrialStart():
                if line.trial in self.begun:
                    raise self._damaged(number, f"trial {line.trial} begins a second time")
                self.begun.add(line.trial)
                self.starts[line.trial] = line
            case journal.TrialEnd():
                self.ends[line.trial] = line
            case journal.Stop():
                self.rows["stops"].append((session, *msgspec.structs.astuple(line)))
            case journal.Note():
                self.rows["notes"].append((session, line.message, _json(line.detail)))
            case record.Fault():
                self.rows["faults"].append((
                    line.trial, line.worker, line.iteration, line.kind, line.message,
                    line.evidence,
                ))  # fmt: skip

    def _sort_instance(
        self,
        session: int | None,
        line: journal.InstanceStart | journal.InstanceEnd | journal.ClockCheck,
    ) -> None:
        match line:
            case journal.InstanceStart():
                self.instances[line.instance] = (line, None)
            case journal.InstanceEnd() if line.instance in self.instances:
                self.instances[line.instance] = (self.instances[line.instance][0], line)
            case journal.ClockCheck():
                self.rows["clocks"].append((session, *msgspec.structs.astuple(line)))

    def _damaged(self, number: int, why: str) -> StoreError:
        return StoreError(
            f"line {number} of {self.path} is damaged: {why}", "restore the file from a copy"
        )

    def _finish(self, session: journal.Session) -> None:
        closed = self.closed
        self.rows["sessions"].append((
            session.session, session.name, session.started, closed and closed.ended,
            closed and closed.reason, session.boot_id, session.nonce, session.tare,
            session.agent_digest, session.argv,
        ))  # fmt: skip
        self.rows["trials"] += [
            self._trial(session.session, start, self.ends.get(number))
            for number, start in self.starts.items()
        ]

        self.rows["instances"] += [
            _instance(session.session, start, end) for start, end in self.instances.values()
        ]

    def _trial(
        self, session: int, start: journal.TrialStart, end: journal.TrialEnd | None
    ) -> tuple[Any, ...]:
        known = (start.levels.get(name) for name in _FACTORS)
        return (
            start.trial, session, start.block, start.position, start.cell, *known,
            _json(start.levels), start.seed, start.repetitions, _json(start.cpus),
            start.rehearsal, start.monotonic_ns,
            end and end.monotonic_ns - start.monotonic_ns,
            end.status if end else "unfinished", end and end.reason,
        )  # fmt: skip


def _instance(
    session: int, start: journal.InstanceStart, end: journal.InstanceEnd | None
) -> tuple[Any, ...]:
    return (
        session, start.instance, start.platform, start.size, start.pinning, start.cores,
        _json(start.cpus), start.memory_bytes, _json(start.workers), start.cold, start.start_ns,
        end and end.stop_ns, end and end.host_cpu_ns, end and end.host_memory_bytes,
    )  # fmt: skip


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
