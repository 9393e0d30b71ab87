"""Where a job leaves its tasks, and by which clock they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare.agent import record
from tare.errors import TrialError
from tare.experiment.session import tasks as module
from tare.experiment.session.tasks import LeftTasks
from tare.workloads.application import Tasks

ROW = "host,start_ns,duration_ns,stage,task\n{host},{start},5,s,t\n"


def left(folder: Path, results: str = "/tmp/{name}", **levels: str) -> LeftTasks:
    resident: Any = SimpleNamespace(instance=SimpleNamespace(own_machine=False))
    job: Any = SimpleNamespace(trial=3)
    return LeftTasks(
        Tasks(results=results), job, resident, time.monotonic_ns(), {"name": "tasks", **levels},
        ("10.0.0.1", "10.0.0.2"), folder,
    )  # fmt: skip


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[tuple[str, ...]]]:
    """Let the instance answer with a text."""

    def answer(text: str) -> list[tuple[str, ...]]:
        asked: list[tuple[str, ...]] = []
        monkeypatch.setattr(module, "aside", lambda argv, *_: asked.append(argv) or ())
        monkeypatch.setattr(module.trial_rows, "output", lambda *_: text.encode())
        return asked

    return answer


@pytest.mark.parametrize("name", ["../etc", "", "a/../../b", "a//b", "."])
def test_a_level_leads_to_no_other_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(TrialError, match="no path in /tmp"):
        left(tmp_path, name=name).clear()


def test_tasks_are_kept_and_counted(tmp_path: Path, printed: Any) -> None:
    asked = printed(ROW.format(host="10.0.0.2", start=time.monotonic_ns()))
    one, kept = left(tmp_path), []
    one.clear()
    assert one.judged(kept.extend) is None
    assert [argv[-1] for argv in asked] == ["/tmp/tasks", "/tmp/tasks"]
    assert {(s.metric, s.source, s.value) for s in kept} == {
        ("tasks", "tasks", 1), ("tasks_failed", "tasks", 0),
    }  # fmt: skip
    assert all(isinstance(s, record.Sample) and s.trial == 3 for s in kept)
    assert (tmp_path / "tasks" / "3.msgpack.zst").exists()


def test_what_is_no_task_of_the_trial_is_why_it_is_not_valid(tmp_path: Path, printed: Any) -> None:
    printed(ROW.format(host="elsewhere", start=time.monotonic_ns()))
    why = left(tmp_path).judged(lambda _: None)
    assert why is not None
    assert why.kind == "tasks.host"
    assert not (tmp_path / "tasks").exists()


def test_times_of_the_epoch_are_off_by_what_both_clocks_differ(tmp_path: Path) -> None:
    one = left(tmp_path)
    assert one._offset_ns() == one.began_ns
    spark = LeftTasks(
        Tasks(results="/tmp/x", format="spark"), one.job, one.resident, one.began_ns, one.levels,
        one.addresses, tmp_path,
    )  # fmt: skip
    began = time.time_ns() - (time.monotonic_ns() - one.began_ns)
    assert abs(spark._offset_ns() - began) < 10**7
