"""The tasks of a distributed job: which host ran each, when, and what it read and waited for.

What a job leaves is hostile until parsed: any of its hosts may have written it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec
import numpy as np

from tare.applications.rows import (
    LONGEST,
    MOST_DURATION_NS,
    MOST_NS,
    ColumnError,
    Kind,
    RowsError,
    TableError,
    Type,
    csv_pieces,
)
from tare.decoding import DecodeError, Decoder
from tare.results.columns import Column, Columns, objects
from tare.results.message import Amount, Message, message

_HOST = "the job ran tasks on {host}, which is no host of the network"
_NONE = "the job left no task"
_VALUE = (
    "the job's tasks have an impossible value of {column}: no number, a negative or missing "
    "one, or too large"
)

#: Of one trial, and of its different stages.
MOST_TASKS, MOST_STAGES = 1_000_000, 10_000
MOST_BYTES_OF_TASK = 1 << 60
#: Bytes of a header, which is searched for in all of a file.
_MOST_HEADER = 10_000
#: By how much tasks may lie outside their trial: Spark cuts times off to milliseconds, and their
#: clock may be adjusted meanwhile.
SLACK_NS = 10**9
_MS = 10**6

#: What a job may not know of its tasks.
_UNKNOWN = ("read_bytes", "local_bytes", "written_bytes", "wait_ns")
_WRITTEN: Mapping[str, Type] = MappingProxyType(
    {
        "host": "text", "start_ns": "integer", "duration_ns": "integer", "stage": "text",
        "task": "text", **dict.fromkeys(_UNKNOWN, "integer"), "error": "text",
    }
)  # fmt: skip
_KEPT: Mapping[str, Type] = MappingProxyType(
    {
        "host": "integer", "stage": "text", "task": "text",
        #: From the begin of the trial.
        "start_ns": "integer",
        "duration_ns": "integer", **dict.fromkeys(_UNKNOWN, "integer"), "failed": "flag",
        #: The begin of the trial by the clock of the tasks.
        "offset_ns": "integer",
    }
)  # fmt: skip
Format = Literal["tasks", "spark"]


def read(
    data: bytes, format_: Format, hosts: Mapping[str, int], offset_ns: int, whole_ns: int
) -> Columns:
    """Read the tasks that a job left, in order of their start.

    Parameters
    ----------
    data : bytes
        What it left.
    format_ : str
        ``tasks`` or ``spark``.
    hosts : mapping
        Numbers of hosts, by all names that they have.
    offset_ns : int
        The begin of the trial by the clock of the tasks.
    whole_ns : int
        How long the trial took so far.

    Returns
    -------
    Columns
        ``host`` (a number), ``stage``, ``task``, ``start_ns`` from the begin of the trial,
        ``duration_ns``, ``read_bytes``, ``local_bytes``, ``written_bytes`` and ``wait_ns`` (NaN
        where unknown), ``failed``, and ``offset_ns``.

    Raises
    ------
    RowsError
        If it is none of the trial's.
    """
    try:
        written = _spark(data, hosts) if format_ == "spark" else _csv(data)
    except TableError as error:
        raise RowsError(
            "tasks.unread", message("the job's tasks are no CSV: {why}", why=str(error)[:LONGEST])
        ) from None
    except ColumnError as error:
        raise RowsError(
            "tasks.column",
            message("the CSV of the job's tasks has not one column {column}", column=error.column),
        ) from None
    _check_times(written, MOST_NS)
    numbers = _numbers(written["host"], hosts)
    start = written["start_ns"] - offset_ns
    end = start + written["duration_ns"]
    if start.min() < -SLACK_NS or end.max() > whole_ns + SLACK_NS:
        raise RowsError("tasks.outside", _outside(start, end, whole_ns))
    made = Columns({
        "host": numbers,
        **{name: objects(text[:LONGEST] for text in written[name]) for name in ("stage", "task")},
        "start_ns": start,
        **written.only("duration_ns", *_UNKNOWN).columns,
        "failed": np.array([error != "" for error in written["error"].tolist()], dtype=bool),
        "offset_ns": np.full(len(start), offset_ns, dtype=np.int64),
    })  # fmt: skip
    check(made)
    return made.sorted_by("start_ns", "host")


def _outside(start: np.ndarray, end: np.ndarray, whole_ns: int) -> Message:
    return message(
        "the job's tasks are not within the trial, which took {whole}: by their times, the "
        "first begins {first} and the last ends {last} after it began. Is their clock the "
        "one of docs/jobs.md?",
        first=Amount(float(start.min()), "ns"),
        last=Amount(float(end.max()), "ns"),
        whole=Amount(float(whole_ns), "ns"),
    )


def _numbers(names: Column, hosts: Mapping[str, int]) -> Column:
    """Return the number of each host."""
    unknown = next((name for name in names.tolist() if name not in hosts), None)
    if unknown is not None:
        raise RowsError("tasks.host", message(_HOST, host=unknown[:LONGEST]))
    return np.array([hosts[name] for name in names.tolist()], dtype=np.int64)


def _bounded(pieces: Iterable[Columns]) -> Columns:
    """Put pieces together as long as they are not too many."""
    kept, tasks = [], 0
    stages: set[str] = set()
    for piece in pieces:
        tasks += len(piece)
        stages.update(piece["stage"])
        if tasks > MOST_TASKS or len(stages) > MOST_STAGES:
            raise RowsError(
                "tasks.many",
                message(
                    "the job has more than {tasks} tasks, or more than {stages} stages",
                    tasks=MOST_TASKS,
                    stages=MOST_STAGES,
                ),
            )
        kept.append(piece)
    if not tasks:
        raise RowsError("tasks.none", message(_NONE))
    return Columns.concatenated(kept)


def _csv(data: bytes) -> Columns:
    head, _, rest = data.lstrip(b"\r\n").partition(b"\n")
    if not head:
        raise RowsError("tasks.none", message(_NONE))
    if len(head) > _MOST_HEADER:
        raise TableError(f"its header has more than {_MOST_HEADER:,} bytes")
    # Of several files in a directory, each has the header.
    rest = re.sub(rb"(?m)^" + re.escape(head) + rb"$\n?", b"", rest)
    rows = head + b"\n" + rest
    return _bounded(
        _as_written(piece) for piece in csv_pieces(rows, _WRITTEN, (*_UNKNOWN, "error"))
    )


def _as_written(found: Columns) -> Columns:
    """Give a piece the columns that it does not have."""
    absent = {name: np.full(len(found), np.nan) for name in _UNKNOWN}
    error = objects([""] * len(found))
    return Columns({**absent, "error": error, **found.columns}).only(*_WRITTEN)


class _Event(msgspec.Struct):
    Event: str = ""


class _Info(msgspec.Struct):
    launch: int = msgspec.field(name="Launch Time")
    finish: int = msgspec.field(name="Finish Time")
    host: str = msgspec.field(name="Host")
    id: int = msgspec.field(name="Task ID")
    failed: bool = msgspec.field(name="Failed", default=False)
    killed: bool = msgspec.field(name="Killed", default=False)


class _ShuffleRead(msgspec.Struct):
    remote: int = msgspec.field(name="Remote Bytes Read", default=0)
    local: int = msgspec.field(name="Local Bytes Read", default=0)
    wait_ms: int = msgspec.field(name="Fetch Wait Time", default=0)


class _ShuffleWrite(msgspec.Struct):
    written: int = msgspec.field(name="Shuffle Bytes Written", default=0)


class _Metrics(msgspec.Struct):
    read: _ShuffleRead = msgspec.field(name="Shuffle Read Metrics", default_factory=_ShuffleRead)
    write: _ShuffleWrite = msgspec.field(
        name="Shuffle Write Metrics", default_factory=_ShuffleWrite
    )


class _TaskEnd(msgspec.Struct):
    stage: int = msgspec.field(name="Stage ID")
    info: _Info = msgspec.field(name="Task Info")
    attempt: int = msgspec.field(name="Stage Attempt ID", default=0)
    metrics: _Metrics | None = msgspec.field(name="Task Metrics", default=None)


class _Executor(msgspec.Struct):
    host: str = msgspec.field(name="Host")


class _ExecutorAdded(msgspec.Struct):
    info: _Executor = msgspec.field(name="Executor Info")


#: How files begin that Spark has compressed, by what it calls the codec.
_COMPRESSED = {
    b"LZ4Block": "lz4", b"\x28\xb5\x2f\xfd": "zstd", b"ZV": "lzf", b"\x82SNAPPY": "snappy",
}  # fmt: skip
#: Events that are read at a time.
_PIECE = 10_000
_events = Decoder[_Event](_Event)
_ends = Decoder[_TaskEnd](_TaskEnd)
_added = Decoder[_ExecutorAdded](_ExecutorAdded)


def _spark(data: bytes, hosts: Mapping[str, int]) -> Columns:
    """Read Spark's event log, or several of them one after the other."""
    return _bounded(_pieces(_task_ends(data, hosts)))


def _task_ends(data: bytes, hosts: Mapping[str, int]) -> Iterator[_TaskEnd]:
    at = 0
    number = 0
    while at < len(data):
        number += 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[at:end]
        at = end + 1
        codec = next((name for how, name in _COMPRESSED.items() if line.startswith(how)), None)
        if codec is not None:
            raise RowsError(
                "tasks.compressed",
                message(
                    "the event log is compressed ({codec}): set spark.eventLog.compress to false",
                    codec=codec,
                ),
            )
        if not line.strip():
            continue
        try:
            event = _events.decode(line).Event
            if event == "SparkListenerTaskEnd":
                yield _ends.decode(line)
            elif event == "SparkListenerExecutorAdded":
                host = _added.decode(line).info.host
                if host not in hosts:
                    raise RowsError("tasks.host", message(_HOST, host=host[:LONGEST]))
        except DecodeError as error:
            why = str(error)[:LONGEST]
            raise RowsError(
                "tasks.event",
                message(
                    "line {line} of the event log is none of Spark's: {why}", line=number, why=why
                ),
            ) from None


def _pieces(ends: Iterable[_TaskEnd]) -> Iterator[Columns]:
    rows: list[tuple[object, ...]] = []
    for end in ends:
        rows.append(_row(end))
        if len(rows) == _PIECE:
            yield _of_rows(rows)
            rows = []
    if rows:
        yield _of_rows(rows)


def _of_rows(rows: list[tuple[object, ...]]) -> Columns:
    try:
        return Columns({
            name: objects(values) if _WRITTEN[name] == "text" else _whole(values)
            for name, values in zip(_WRITTEN, zip(*rows, strict=True), strict=True)
        })  # fmt: skip
    except OverflowError:
        raise RowsError("tasks.value", message(_VALUE, column="Task Info")) from None


def _whole(values: Sequence[Any]) -> Column:
    """Return whole numbers as a column; raises OverflowError where one has more than 64 bits."""
    known = np.array([value or 0 for value in values], dtype=np.int64)
    absent = np.array([value is None for value in values])
    return np.where(absent, np.nan, known) if absent.any() else known


def _row(end: _TaskEnd) -> tuple[object, ...]:
    info, metrics = end.info, end.metrics
    stage = f"{end.stage}.{end.attempt}" if end.attempt else f"{end.stage}"
    found: tuple[int | None, ...] = (None,) * len(_UNKNOWN)
    if metrics is not None:
        read = metrics.read
        found = (read.remote, read.local, metrics.write.written, read.wait_ms * _MS)
    error = "failed" if info.failed else "killed" if info.killed else ""
    duration = (info.finish - info.launch) * _MS
    return (info.host, info.launch * _MS, duration, stage, str(info.id), *found, error)


def _check_times(rows: Columns, most_ns: int) -> None:
    for name, least, most in (
        ("start_ns", -SLACK_NS, most_ns),
        ("duration_ns", 0, MOST_DURATION_NS),
        ("wait_ns", 0, MOST_DURATION_NS),
        ("read_bytes", 0, MOST_BYTES_OF_TASK),
        ("local_bytes", 0, MOST_BYTES_OF_TASK),
        ("written_bytes", 0, MOST_BYTES_OF_TASK),
    ):
        values = rows[name]
        # A column with absent values is one of floating-point numbers.
        absent = values.dtype != np.int64
        known = values[~np.isnan(values)] if absent else values
        possible = not len(known) or least <= known.min() <= known.max() <= most
        if not possible or (absent and name not in _UNKNOWN):
            raise RowsError("tasks.value", message(_VALUE, column=name))


def check(rows: Columns) -> None:
    """Check that there are tasks, whose numbers can be those of tasks.

    Raises
    ------
    RowsError
        If not.
    """
    if not rows:
        raise RowsError("tasks.none", message(_NONE))
    _check_times(rows, MOST_DURATION_NS)
    hosts = rows["host"]
    if hosts.dtype != np.int64 or not 1 <= hosts.min() <= hosts.max() <= MOST_HOSTS:
        raise RowsError("tasks.value", message(_VALUE, column="host"))
    if rows["failed"].dtype != bool or rows["offset_ns"].dtype != np.int64:
        raise RowsError("tasks.value", message(_VALUE, column="failed"))


#: More than any network of ours has.
MOST_HOSTS = 1 << 16


#: What is kept of them.
TASKS = Kind(
    name="tasks",
    columns=_KEPT,
    optional=frozenset(_UNKNOWN),
    check=check,
    failed=lambda rows: int(rows["failed"].sum()),
    derived=lambda rows: rows,
)


def names_of(addresses: Iterable[str]) -> dict[str, int]:
    """Return the number of each host, by its address, its number, and ``hostN``."""
    found: dict[str, int] = {}
    for number, address in enumerate(addresses, 1):
        found |= {address: number, str(number): number, f"host{number}": number}
    return found
