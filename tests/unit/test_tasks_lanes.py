"""What a run comes to once its program has ended well."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from tare.agent import record
from tare.errors import AgentError
from tare.features.tasks.lanes import Ended, RefusedError, Running, Work
from tare.features.tasks.specification import (
    MOST_EXPECTED_BYTES,
    MOST_OUTPUT_BYTES,
    Task,
    TaskSet,
)

ASKED = TaskSet(files=("*.in",), expected="*.out")


def result(expected: Path, output: bytes = b"3") -> str:
    running = Running(Work(0, 0, 1), cast("Any", None), 1, 1000, output=bytearray(output))
    task = Task(name="a", input="/a", expected=str(expected), digest="0")
    return running.judged(task, ASKED).result


def test_an_output_is_held_against_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("3\n")
    assert result(tmp_path / "a") == "correct"
    assert result(tmp_path / "a", b"4") == "wrong"
    # As much as was wanted may be cut.
    assert result(tmp_path / "a", b"3".ljust(1000)) == "wrong"


def test_an_answer_that_a_program_has_written_judges_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("4")
    task = Task(
        name="a", input="/a", expected=str(tmp_path / "a"), digest="0",
        answer=hashlib.sha256(b"3").hexdigest(),
    )  # fmt: skip
    running = Running(Work(0, 0, 1), cast("Any", None), 1, 1000, output=bytearray(b"4"))
    assert running.judged(task, ASKED).result == "unchecked"
    assert running.unanswered(task) is not None
    (tmp_path / "a").write_text("3")
    assert running.judged(task, ASKED).result == "wrong"
    assert running.unanswered(task) is None


def test_of_a_cut_output_a_checker_says_nothing() -> None:
    running = Running(Work(0, 0, 1), cast("Any", None), 1, MOST_OUTPUT_BYTES)
    assert running.cut() is None
    running.output = bytearray(MOST_OUTPUT_BYTES)
    ended = running.cut()
    assert ended is not None
    assert ended.result == "unchecked"


@pytest.mark.parametrize("what", ["gone", "folder", "pipe", "large"])
def test_an_answer_that_is_none_any_more_judges_nothing(tmp_path: Path, what: str) -> None:
    answer = tmp_path / "a"
    match what:
        case "folder":
            answer.mkdir()
        case "pipe":
            os.mkfifo(answer)
        case "large":
            answer.touch()
            os.truncate(answer, 1 << 40)
    assert MOST_EXPECTED_BYTES < 1 << 30
    assert result(answer) == "unchecked"


def received(
    *records: record.Record, limit_bytes: int = 4, judges: Running | None = None
) -> Running:
    """Return a run whose agent has sent these records."""
    running = Running(Work(0, 0, 1), cast("Any", None), 1, limit_bytes, judges)
    for one in records:
        running.take(one)
    return running


def output(data: bytes, *, trial: int = 1, stream: record.Stream = "out") -> record.Output:
    text = base64.b64encode(data).decode()
    return record.Output(data=text, id=1, iteration=0, stream=stream, trial=trial, worker=0)


def sample(metric: str, value: int, phase: record.Phase = "measured") -> record.Sample:
    return record.Sample(id=1, metric=metric, phase=phase, source="switch", trial=1, value=value)


def fault(kind: record.FaultKind, iteration: int | None = 0, evidence: str = "") -> record.Fault:
    return record.Fault(
        evidence=evidence, id=1, iteration=iteration, kind=kind, message="it ended", trial=1
    )


def test_an_output_may_be_as_long_as_was_asked_for_and_no_longer() -> None:
    assert received(output(b"12"), output(b"34")).output == b"1234"
    with pytest.raises(AgentError, match="more output"):
        received(output(b"12"), output(b"345"))


def test_only_the_output_of_this_run_is_taken() -> None:
    assert received(output(b"1", stream="err")).output == b""
    with pytest.raises(AgentError, match="another trial"):
        received(output(b"1", trial=2))


def test_measured_values_of_kept_metrics_are_taken() -> None:
    running = received(
        sample("wall_ns", 5), sample("wall_ns", 7, "warmup"), sample("minor_faults", 3)
    )
    assert running.values == {"wall_ns": {"switch": 5}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("timeout", "timeout"), ("out_of_memory", "out_of_memory"), ("exit", "crashed")],
)
def test_a_fault_of_the_program_is_its_result(kind: record.FaultKind, expected: str) -> None:
    ended = received(fault(kind)).ended()
    assert ended is not None
    assert ended.result == expected


def test_a_program_that_was_killed_has_not_crashed() -> None:
    for number, expected in ((signal.SIGKILL, "killed"), (signal.SIGSEGV, "crashed")):
        ended = received(sample("signal", number), fault("signal")).ended()
        assert ended is not None
        assert ended.result == expected


def test_a_fault_of_the_platform_is_no_result() -> None:
    assert received().ended() is None
    assert received(fault("warning")).ended() is None
    with pytest.raises(RefusedError):
        received(fault("launch")).ended()
    with pytest.raises(AgentError):
        received(fault("exit", iteration=None)).ended()
    with pytest.raises(AgentError):
        received(fault("survived"))


@pytest.mark.parametrize(
    ("code", "expected"), [(1, "wrong"), (2, "wrong"), (3, "unchecked"), (None, "correct")]
)
def test_a_checker_judges_by_its_exit_code(code: int | None, expected: str) -> None:
    judged = received(sample("wall_ns", 5))
    records = [] if code is None else [sample("exit_code", code), fault("exit")]
    ended = received(*records, judges=judged).verdict()
    assert isinstance(ended, Ended)
    assert ended.result == expected
    assert ended.values == judged.values
