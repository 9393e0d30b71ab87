"""Processes that outlived commands: which trials left some, what became of them, and why."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import synthetic

from tare.agent import record
from tare.experiment.findings import outlived as findings
from tare.experiment.findings.outlived import other_warnings, outlived
from tare.experiment.results import Results
from tare.experiment.store import collector
from tare.render.words import text
from tare.results.columns import Columns

FAULT = ("trial", "kind", "message", "outlived_names", "outlived_ns", "outlived_killed")


def with_faults(results: Results, *faults: tuple[Any, ...]) -> Results:
    return dataclasses.replace(results, faults=Columns.of_rows(FAULT, faults))


def left(trial: int, *names: str, ms: int = 200, killed: bool = False) -> Any:
    found = record.Outlived(names=names or ("daemon",), duration_ns=ms * 1_000_000, killed=killed)
    return trial, "warning", "left", *collector._outlived(found)


def one_cell(**options: Any) -> Results:
    return synthetic.make(platforms=["bare"], workers=[1], trials=10, **options)


@pytest.fixture(autouse=True)
def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sources of CPU time that trials have, best first."""
    found = ["reaped", "rusage"]
    monkeypatch.setattr(Results, "sources", lambda _, metric: found)
    return found


def test_nothing_is_said_of_processes_that_ended_in_time() -> None:
    assert outlived(one_cell()) == []
    results = with_faults(one_cell(), (0, "warning", "sources disagree", None, None, None))
    assert outlived(results) == []
    assert other_warnings(results) == ["sources disagree"]


def test_processes_that_ended_are_named_with_how_long_they_took() -> None:
    some = [left(0), left(1, "daemon", "sleep", ms=300), left(2)]
    results = with_faults(one_cell(), *some)
    (found,) = outlived(results)
    assert text(found.sentence) == (
        "3 of 10 trials left processes (daemon and sleep), which ended by themselves within "
        "300 ms; CPU time includes theirs, wall time does not"
    )
    assert other_warnings(results) == []


def test_names_of_processes_may_have_commas_and_quotes() -> None:
    (found,) = outlived(with_faults(one_cell(), left(0, "a, b", '"c"'), left(1, "a, b", "é")))
    assert found.names == ["a, b", '"c"', "é"]


@pytest.mark.parametrize(
    ("killed", "said"),
    [(2, "which were killed after 200 ms"), (1, "which ended or, after 200 ms, were killed")],
)
def test_killed_processes_had_the_grace_period(killed: int, said: str) -> None:
    some = [left(trial, killed=trial < killed) for trial in range(2)]
    (found,) = outlived(with_faults(one_cell(linger_s=0.2), *some))
    assert said in text(found.sentence)


def test_cpu_time_of_the_command_alone_leaves_them_out(sources: list[str]) -> None:
    sources.remove("reaped")
    (found,) = outlived(with_faults(one_cell(), left(0)))
    assert "neither CPU time nor wall time includes theirs" in text(found.sentence)


def test_cells_are_told_apart_up_to_a_few() -> None:
    results = synthetic.make(workloads=["a", "b"], platforms=["bare"], workers=[1], trials=10)
    of = {row["workload"]: row["trial"] for row in results.trial_table.records()}
    (found,) = outlived(with_faults(results, left(of["b"])))
    assert text(found.sentence).startswith("1 of 10 trials of b left processes (daemon)")
    many = synthetic.make(workloads=list("abcde"), platforms=["bare"], workers=[1], trials=10)
    faults = [left(row["trial"]) for row in many.trial_table.records()]
    (found,) = outlived(with_faults(many, *faults))
    assert text(found.sentence).startswith("50 of 50 trials left processes (daemon)")


@pytest.mark.parametrize(
    ("command", "shell", "is_background"),
    [
        (("sh", "-c", "sleep .2 &> /dev/null"), "dash", True),
        (("sh", "-c", "sleep .2 &>/dev/null"), "dash", True),
        (("sh", "-c", "sleep .2 & > /dev/null"), "dash", False),
        (("sh", "-c", "echo '&>' & sleep 1"), "dash", False),
        (("sh", "-c", "echo 'open &> a"), "dash", False),
        (("sh", "-c", "sleep .2 &> /dev/null"), "bash", False),
        (("bash", "-c", "sleep .2 &> /dev/null"), "bash", False),
        (("sh", "&>"), "dash", False),
        ((), "dash", False),
    ],
)
def test_a_redirection_that_sh_does_not_know(
    command: tuple[str, ...],
    shell: str,
    is_background: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / shell
    program.write_text("#!/bin/true\n")
    program.chmod(0o755)
    if shell != "sh":
        (tmp_path / "sh").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert findings._sends_to_background(command) is is_background


def test_a_name_with_line_breaks_stays_on_one_line() -> None:
    results = with_faults(one_cell(), left(0, "hid\n)x", "a\r\tb"))
    (found,) = outlived(results)
    assert "left processes (hid )x and a b), which" in text(found.sentence)
