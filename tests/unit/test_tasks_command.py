"""``tare tasks run``: where its results go, what it passes on, and how it ends, without any run."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from inprocess import invoke
from swept import EMPTY

from tare.cli.delivery import Delivered
from tare.errors import IncompleteError, UsageError
from tare.features.tasks import command, work
from tare.features.tasks.runs import Runs
from tare.results.columns import Columns


class Tasks:
    """The command, with the work replaced by what it is called with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.results = ["correct", "wrong"]
        self.prepared: dict[str, Any] = {}
        self.executed: dict[str, Any] = {}
        self.reported: tuple[Any, ...] = ()
        monkeypatch.setattr(work, "prepare", self._prepare)
        monkeypatch.setattr(work, "execute", self._execute)
        monkeypatch.setattr(command, "_report", self._report)

    def _prepare(self, file: Path, **options: Any) -> Any:
        self.prepared = {"file": file, **options}
        return types.SimpleNamespace(notes=[])

    def _execute(self, prepared: Any, folder: Path, bar: Any, **options: Any) -> None:
        self.executed = {"folder": folder, **options}

    def _report(self, *given: Any) -> Any:
        self.reported = given
        # Where the page is written.
        given[0][0].mkdir(parents=True)
        table = Columns({"result": self.results, "configuration": [0] * len(self.results)})
        return Delivered(EMPTY), Runs(folders=(), configurations=(), tasks=(), table=table)

    def run(self, *words: str) -> None:
        invoke("tasks", "run", *words, catch=False)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tasks:
    monkeypatch.chdir(tmp_path)
    return Tasks(monkeypatch)


@pytest.mark.parametrize(
    ("words", "folder"), [((), "sets/mine"), (("--out", "elsewhere"), "elsewhere")]
)
def test_results_go_to_the_folder_that_is_named_or_to_that_of_the_file(
    tasks: Tasks, words: tuple[str, ...], folder: str
) -> None:
    tasks.run("sets/mine.toml", *words)
    assert tasks.executed["folder"] == Path(folder)
    assert tasks.reported == ([Path(folder)], "cpu", "tasks run")
    assert (Path(folder) / "report.html").is_file()


def test_options_are_passed_on(tasks: Tasks) -> None:
    tasks.run(
        "a.toml", "--parallel", "3", "-n", "5", "--skip-missing", "--resume", "--metric", "wall"
    )
    assert tasks.prepared == {
        "file": Path("a.toml"), "parallel": 3, "trials": 5, "skip_missing": True, "user": None,
    }  # fmt: skip
    assert tasks.executed == {"folder": Path("a"), "resume": True, "user": None}
    assert tasks.reported[1] == "wall"


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (["correct", "lost"], "1 of 2 runs was lost by their platform"),
        (["unchecked", "unchecked", "wrong"], "2 of 3 runs were not checked"),
    ],
)
def test_runs_without_a_result_of_the_program_are_an_error(
    tasks: Tasks, results: list[str], expected: str
) -> None:
    tasks.results = results
    with pytest.raises(IncompleteError, match=expected):
        tasks.run("a.toml")


def test_an_unknown_metric_is_refused_before_anything_runs(tasks: Tasks) -> None:
    with pytest.raises(UsageError):
        tasks.run("a.toml", "--metric", "memory")
    assert not tasks.prepared
