"""What is piped into tare: who pipes something is told that no command would read it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare.cli.progress import Bar
from tare.cli.standard_input import standard_input
from tare.errors import CutShortError, ExperimentError, TrialError
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.comparison.session import conduct
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec

EXECUTION = Execution(SUPPLIES)


@pytest.fixture
def writer() -> Iterator[int]:
    """Make a pipe our standard input; what is written to it is this end."""
    before = os.dup(0)
    end, begin = os.pipe()
    os.dup2(end, 0)
    os.close(end)
    yield begin
    os.dup2(before, 0)
    os.close(before)
    with contextlib.suppress(OSError):
        os.close(begin)


def given(asked: str | None = None) -> str | None:
    with standard_input(asked) as kept:
        return kept


def test_what_waits_is_refused(writer: int) -> None:
    os.write(writer, b"a")
    with pytest.raises(ExperimentError, match="piped into tare"):
        given()
    assert given("some file") == "some file"


def test_a_pipe_of_who_started_us_may_be_one_that_nobody_writes_to(writer: int) -> None:
    assert given() is None


def measured(monkeypatch: pytest.MonkeyPatch, do: Any, input: str | None = None) -> Any:
    """Conduct a session in which something happens in place of trials."""
    monkeypatch.setattr("tare.experiment.pipeline.execute", lambda *_, **__: do())
    workload = WorkloadSpec(name="w", command=("true",), input=input)
    prepared: Any = SimpleNamespace(
        experiment=SimpleNamespace(workloads=(workload,)), cells=(), machine=None
    )
    return conduct(prepared, Path("/nowhere"), EXECUTION, Bar())


def test_what_comes_while_it_is_measured_is_no_answer(
    writer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trials() -> str:
        os.write(writer, b"a")
        return "finished"

    with pytest.raises(ExperimentError, match="piped into tare"):
        measured(monkeypatch, trials)
    assert measured(monkeypatch, trials, "some file") == ("finished", None)


@pytest.mark.parametrize(
    ("failure", "ended"), [(CutShortError("left"), "interrupted"), (TrialError("all"), "failed")]
)
def test_how_a_session_ended_is_told_with_what_failed(
    failure: TrialError, ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trials() -> str:
        raise failure

    assert measured(monkeypatch, trials) == (ended, failure)
