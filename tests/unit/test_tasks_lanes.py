"""What a run comes to once its program has ended well."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, cast

import pytest

from tare.features.tasks.lanes import Running, Work
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
