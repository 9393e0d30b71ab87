"""The tasks of a distributed job: read from hostile files, kept, and read back."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import template

from tare.applications import tasks
from tare.applications.rows import RowsError
from tare.errors import StoreError
from tare.experiment.store.row_file import write
from tare.experiment.store.trial_files import TrialFiles
from tare.experiment.tables import Counted
from tare.results.columns import Column, Columns

HEAD = "host,start_ns,duration_ns,stage,task,read_bytes,written_bytes,wait_ns,error"
HOSTS = tasks.names_of(["10.0.0.1", "10.0.0.2"])
BEGAN, WHOLE = 10**12, 10 * 10**9
EPOCH_MS = 1_700_000_000_000
#: Of Spark 3.5 in local mode, without its properties and accumulators.
LOG = Path(__file__).parent.parent / "data" / "spark-events.jsonl"


def csv(*rows: str, head: str = HEAD) -> bytes:
    return "\n".join([head, *rows, ""]).encode()


def read(data: bytes, format_: tasks.Format = "tasks", offset_ns: int = BEGAN) -> Columns:
    return tasks.read(data, format_, HOSTS, offset_ns, WHOLE)


def listed(column: Column) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]


def why(data: bytes, format_: tasks.Format = "tasks", offset_ns: int = BEGAN) -> str:
    with pytest.raises(RowsError) as error:
        read(data, format_, offset_ns)
    return template(error.value.said)


def ended(**changes: Any) -> dict[str, Any]:
    info = {
        "Task ID": 7, "Index": 0, "Attempt": 0, "Launch Time": EPOCH_MS + 100, "Host": "10.0.0.2",
        "Finish Time": EPOCH_MS + 350, "Failed": False, "Killed": False, "Accumulables": [],
    }  # fmt: skip
    metrics = {
        "Executor Run Time": 200,
        "Shuffle Read Metrics": {
            "Remote Bytes Read": 1000, "Local Bytes Read": 10, "Fetch Wait Time": 40,
            "Total Records Read": 5,
        },
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 77, "Shuffle Write Time": 4},
    }  # fmt: skip
    event = {
        "Event": "SparkListenerTaskEnd", "Stage ID": 3, "Stage Attempt ID": 0,
        "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"},
        "Task Info": {**info, **changes.pop("info", {})}, "Task Metrics": metrics,
    }  # fmt: skip
    return {**event, **changes}


def spark(*events: Any) -> bytes:
    start = {"Event": "SparkListenerLogStart", "Spark Version": "3.5.6"}
    return "\n".join([json.dumps(e) for e in (start, *events)] + [""]).encode()


def test_tasks_start_from_the_begin_of_the_trial() -> None:
    data = csv(
        f"10.0.0.2,{BEGAN + 500},200,map,1,10,20,30,",
        f"1,{BEGAN + 100},300,map,0,0,20,0,out of disk",
        f"host2,{BEGAN + 800},1,reduce,0,5,0,1,",
    )
    table = read(data)
    assert listed(table["host"]) == [1, 2, 2]
    assert listed(table["start_ns"]) == [100, 500, 800]
    assert listed(table["failed"]) == [True, False, False]
    assert listed(table["wait_ns"]) == [0, 30, 1]
    assert listed(table["local_bytes"]) == [None] * 3
    assert set(listed(table["offset_ns"])) == {BEGAN}


def test_what_is_not_written_is_not_known() -> None:
    table = read(csv(f"1,{BEGAN},5,s,t", head="host,start_ns,duration_ns,stage,task"))
    assert listed(table["wait_ns"]) == [None]
    assert listed(table["failed"]) == [False]


def test_numbers_may_be_padded_and_a_header_has_a_bound() -> None:
    rows = read(csv(f"1, {BEGAN} ,  5,s,t,0,0,0,"))
    assert rows["duration_ns"].tolist() == [5]
    assert why(csv(head=f"{HEAD},{'x' * 20_000}")) == "are no CSV:"


def test_each_file_of_a_directory_has_the_header() -> None:
    one = csv(f"1,{BEGAN},5,s,t,0,0,0,")
    assert len(read(one + one)) == 2
    # Hosts without tasks leave the header alone; what reads the files ends each with a newline.
    assert len(read(b"\n" + csv() + b"\n" + csv() + csv() + one + csv().rstrip(b"\n"))) == 1


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (f"10.0.0.9,{BEGAN},5,s,t,0,0,0,", "is no host"),
        (f",{BEGAN},5,s,t,0,0,0,", "is no host"),
        (f"1,{BEGAN},-5,s,t,0,0,0,", ": no number,"),
        (f"1,{BEGAN},{10**17},s,t,0,0,0,", ": no number,"),
        (f"1,{BEGAN},5,s,t,-1,0,0,", ": no number,"),
        (f"1,{BEGAN},5,s,t,0,{1 << 61},0,", ": no number,"),
        (f"1,{BEGAN},5,s,t,0,0,-1,", ": no number,"),
        ("1,-9000000000000000000,5,s,t,0,0,0,", ": no number,"),
        (f"1,{BEGAN},,s,t,0,0,0,", ": no number,"),
        (f"1,{BEGAN},NaN,s,t,0,0,0,", "are no CSV:"),
        (f"1,{BEGAN},1_0,s,t,0,0,0,", "are no CSV:"),
        (f"1,{10**30},5,s,t,0,0,0,", "are no CSV:"),
        (f"1,{BEGAN},5,s", "are no CSV:"),
        (f"1,{BEGAN - 2 * 10**9},5,s,t,0,0,0,", "it began. Is"),
        (f"1,{BEGAN + WHOLE},{2 * 10**9},s,t,0,0,0,", "it began. Is"),
    ],
)
def test_what_no_trial_can_have_left_is_refused(row: str, wrong: str) -> None:
    assert why(csv(f"1,{BEGAN},5,s,t,0,0,0,", row)) == wrong


def test_a_job_without_tasks_is_refused() -> None:
    assert why(csv()) == "left no task"
    assert why(b"") == "left no task"
    assert why(spark(), "spark") == "left no task"
    assert why(b"", "spark") == "left no task"
    assert why(csv(head="host,start_ns")) == "the CSV of"
    assert why(csv(head=f"{HEAD},host")) == "the CSV of"


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"1,{BEGAN},5,s{i},t,0,0,0," for i in range(3)]
    monkeypatch.setattr(tasks, "MOST_STAGES", 2)
    assert why(csv(*rows)) == "the job has"
    monkeypatch.setattr(tasks, "MOST_STAGES", 10)
    monkeypatch.setattr(tasks, "MOST_TASKS", 2)
    assert why(csv(*rows)) == "the job has"


def test_spark_is_read_with_its_clock() -> None:
    added = {
        "Event": "SparkListenerExecutorAdded", "Timestamp": EPOCH_MS, "Executor ID": "1",
        "Executor Info": {"Host": "10.0.0.2", "Total Cores": 1},
    }  # fmt: skip
    retried = ended(info={"Task ID": 8, "Host": "10.0.0.1", "Failed": True})
    retried |= {"Stage Attempt ID": 1, "Task Metrics": None}
    table = read(spark(added, ended(), retried), "spark", EPOCH_MS * 10**6)
    assert listed(table["host"]) == [1, 2]
    assert listed(table["stage"]) == ["3.1", "3"]
    assert listed(table["start_ns"]) == [100 * 10**6] * 2
    assert listed(table["duration_ns"]) == [250 * 10**6] * 2
    assert listed(table["read_bytes"]) == [None, 1000]
    assert listed(table["local_bytes"]) == [None, 10]
    assert listed(table["written_bytes"]) == [None, 77]
    assert listed(table["wait_ns"]) == [None, 40 * 10**6]
    assert listed(table["failed"]) == [True, False]


@pytest.mark.parametrize(
    ("event", "wrong"),
    [
        (ended(info={"Host": "10.0.0.9"}), "is no host"),
        (ended(info={"Launch Time": 10**30}), ": no number,"),
        (ended(info={"Launch Time": 10**18}), ": no number,"),
        (ended(info={"Finish Time": 0}), ": no number,"),
        (ended(info={"Finish Time": "soon"}), "is none of"),
        (ended(info={"Launch Time": EPOCH_MS - 5000}), "it began. Is"),
        ({"Event": "SparkListenerTaskEnd"}, "is none of"),
        ({"Event": "SparkListenerExecutorAdded", "Executor Info": {"Host": "x"}}, "is no host"),
        ([], "is none of"),
    ],
)
def test_no_log_of_the_trial_is_refused(event: Any, wrong: str) -> None:
    assert why(spark(ended(), event), "spark", EPOCH_MS * 10**6) == wrong


@pytest.mark.parametrize(
    "data", [b"LZ4Block\x15...", b"\x28\xb5\x2f\xfd$...", b"ZV\x01", b"\x82SNAPPY"]
)
def test_compressed_logs_are_refused_by_name(data: bytes) -> None:
    assert why(data, "spark") == "): set spark.eventLog.compress"


def test_deeply_nested_events_are_refused() -> None:
    deep = b'{"Event": "x", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    assert why(deep, "spark") == "is none of"


@given(st.binary(max_size=300))
def test_whatever_is_left_is_read_or_refused(data: bytes) -> None:
    for start in (b"", csv(), spark(ended())):
        for format_ in ("tasks", "spark"):
            with contextlib.suppress(RowsError):
                assert len(read(start + data, format_, EPOCH_MS * 10**6))  # type: ignore[arg-type]


def test_a_log_of_spark_itself_is_read() -> None:
    data = LOG.read_bytes()
    ends = [e for e in map(json.loads, data.splitlines()) if e["Event"] == "SparkListenerTaskEnd"]
    began = min(e["Task Info"]["Launch Time"] for e in ends) * 10**6
    table = tasks.read(data, "spark", {"localhost": 1}, began, 60 * 10**9)
    assert table["start_ns"][0] == 0
    assert sorted(set(listed(table["stage"]))) == ["0", "1"]
    assert len(table) == len(ends) == 7
    written, local = (sum(table[name]) for name in ("written_bytes", "local_bytes"))
    assert written == local > 0


def test_what_is_kept_is_read_back_as_the_journal_counts_it(tmp_path: Path) -> None:
    table = read(csv(f"1,{BEGAN},5,s,t,0,0,0,", f"2,{BEGAN},5,s,t,0,0,0,lost"))
    write(tasks.TASKS, table, tmp_path, 4)
    kept = TrialFiles(tmp_path, tasks.TASKS)
    found = kept.read(4, Counted(2, 1))
    assert found.names == ("trial", *tasks.TASKS.columns)
    assert listed(found["trial"]) == [4, 4]
    for counted in (Counted(3, 1), Counted(2, 0)):
        with pytest.raises(StoreError, match="tasks of trial 4"):
            kept.read(4, counted)


def test_a_file_from_elsewhere_is_checked(tmp_path: Path) -> None:
    table = read(csv(f"1,{BEGAN},5,s,t,0,0,0,"))
    for name, value in (("host", 0), ("duration_ns", -1), ("wait_ns", -1), ("start_ns", math.nan)):
        wrong = table.with_columns(**{name: [value]})
        write(tasks.TASKS, wrong, tmp_path, 1)
        with pytest.raises(StoreError):
            TrialFiles(tmp_path, tasks.TASKS).read(1, Counted(1, 0))
