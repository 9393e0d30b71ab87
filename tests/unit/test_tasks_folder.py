"""Folders of task sets: what is gone on with, what is joined, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inprocess import invoke

from tare.errors import ExperimentError, StoreError, UsageError
from tare.experiment import journal, plan_file
from tare.experiment.plan import VERSION
from tare.experiment.specification import Cell, Experiment
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks import folder as folders
from tare.features.tasks.journal import Run
from tare.features.tasks.lanes import Work
from tare.features.tasks.session import works
from tare.features.tasks.specification import Plan, Task, TaskSet
from tare.workloads.specification import WorkloadSpec

SOLVE = WorkloadSpec(name="solve", command=("./solve",), timeout_s=1.0)


def plan(*tasks: str, trials: int = 1, platforms: Iterable[str] = ("bare",), **more: str) -> Plan:
    experiment = Experiment(
        name="set", question="?", workloads=(SOLVE,), factors={"platform": tuple(platforms)}
    )
    return Plan(
        experiment=experiment,
        tasks=tuple(
            Task(name=name, input=f"/{name}", digest=more.get("digest", "0")) for name in tasks
        ),
        set=TaskSet(files=("*",), trials=trials),
        cells=tuple(
            Cell(cell=number, workload=SOLVE, platform=platform, others={"task": "/a"})
            for number, platform in enumerate(platforms)
        ),
    )


def _experiment(**changed: Any) -> Plan:
    other = plan("a", "b")
    experiment = msgspec.structs.replace(other.experiment, **changed)
    return msgspec.structs.replace(other, experiment=experiment)


def run(number: int, task: int, result: Result = "done", **more: int) -> Run:
    values = {"cpu_ns": {"cgroup": 5.0, "rusage": 4.0}, "exit_code": {"reaped": 0}}
    return Run(
        run=number, cell=more.get("cell", 0), task=task, trial=more.get("trial", 1), lane=0,
        began_ns=10 * number, ended_ns=10 * number + 7, result=result, values=values,
    )  # fmt: skip


def session(folder: Path, number: int, *lines: msgspec.Struct) -> None:
    (folder / "journal").mkdir(exist_ok=True)
    writer = journal.Writer(folder / f"journal/{number}.ndjson")
    writer.write(
        journal.Session(
            version=VERSION, session=number, name="tare-000000", nonce=1, boot_id=None,
            started="2026-01-01T00:00:00+00:00", tare="0", agent_digest="0", argv=(),
        ),
        *lines,
    )  # fmt: skip
    writer.sync()
    writer.close()


def test_only_what_is_missing_is_run_again(tmp_path: Path) -> None:
    whole = plan("a", "b", "c", trials=2)
    folders.begin(whole, "", tmp_path)
    session(tmp_path, 1, run(1, 0), run(2, 1, "lost"), run(3, 2, "unchecked"))
    session(tmp_path, 2, run(4, 1), run(5, 0, trial=2))
    past = folders.go_on(whole, "", tmp_path)
    assert (past.sessions, past.runs) == (2, 5)
    assert set(works(whole, past.done)) == {Work(0, 2, 1), Work(0, 1, 2), Work(0, 2, 2)}


def test_the_last_run_of_a_task_counts(tmp_path: Path) -> None:
    whole = plan("a", "b")
    folders.begin(whole, "", tmp_path)
    session(tmp_path, 1, run(1, 0, "lost"), run(2, 1, "wrong"))
    session(tmp_path, 2, run(3, 0, "correct"))
    table = folders.load([tmp_path]).table.sorted_by("task")
    assert table["result"].tolist() == ["correct", "wrong"]
    assert table["cpu_ns"].tolist() == [5.0, 5.0]
    assert table["exit_status"].tolist() == [0.0, 0.0]
    assert table["took_ns"].tolist() == [7.0, 7.0]


def test_order_is_random_by_the_seed_and_cells_of_a_task_stand_together() -> None:
    whole = plan(*"abcdefghij", platforms=("bare", "docker"))
    order = list(works(whole, set()))
    assert order == list(works(whole, set()))
    assert [work.task for work in order[::2]] == [work.task for work in order[1::2]]
    assert [work.task for work in order[::2]] != list(range(10))
    assert len(set(order)) == 20


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (plan("a", "b", digest="1"), "tasks changed"),
        (plan("a", "b", platforms=("bare", "docker")), "workloads or platforms changed"),
        (_experiment(seed=2), "^seed changed"),
        (_experiment(fresh="trial", linger_s=0.0), "^fresh, linger changed"),
    ],
)
def test_another_set_is_not_gone_on_with(tmp_path: Path, other: Plan, said: str) -> None:
    folders.begin(plan("a", "b"), "", tmp_path)
    session(tmp_path, 1, run(1, 0))
    with pytest.raises(ExperimentError, match=said):
        folders.go_on(other, "", tmp_path)
    # More trials of the same are.
    folders.go_on(plan("a", "b", trials=3), "", tmp_path)


def test_a_program_that_was_built_again_is_another(tmp_path: Path) -> None:
    first = msgspec.structs.replace(plan("a", "b"), programs={"/solve": "1", "/lib": "1"})
    again = msgspec.structs.replace(first, programs={"/solve": "2", "/lib": "1"})
    folders.begin(first, "", tmp_path)
    # Nothing was run with it.
    folders.go_on(again, "", tmp_path)
    folders.go_on(first, "", tmp_path)
    session(tmp_path, 1, run(1, 0))
    with pytest.raises(ExperimentError, match=r"^/solve changed"):
        folders.go_on(again, "", tmp_path)


def test_folders_without_a_common_task_are_not_joined(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        folders.begin(plan(name), "", tmp_path / name)
    with pytest.raises(UsageError, match="has no task of"):
        folders.load([tmp_path / "a", tmp_path / "b"])


def test_tasks_of_one_name_with_another_input_are_counted(tmp_path: Path) -> None:
    for name, digest in (("one", "0"), ("two", "1")):
        (tmp_path / name).mkdir()
        folders.begin(plan("a", "b", digest=digest), "", tmp_path / name)
    runs = folders.load([tmp_path / "one", tmp_path / "two"])
    assert [one.replaced for one in runs.folders] == [(), ("a", "b")]
    # They are other tasks.
    assert runs.tasks == ("a", "b", f"a ({tmp_path}/two)", f"b ({tmp_path}/two)")
    assert [one.planned for one in runs.folders] == [2, 2]


@pytest.mark.parametrize("bad", [-1.0, float("inf"), 1e308, 5e-324])
def test_what_cannot_be_measured_is_refused(tmp_path: Path, bad: float) -> None:
    folders.begin(plan("a"), "", tmp_path)
    one = msgspec.structs.replace(run(1, 0), values={"cpu_ns": {"cgroup": bad}})
    session(tmp_path, 1, one)
    with pytest.raises(StoreError, match=r"what cannot be|is damaged"):
        folders.load([tmp_path])


def test_folders_are_joined_by_the_names_of_tasks(tmp_path: Path) -> None:
    for name, tasks in (("one", "ab"), ("two", "bc")):
        (tmp_path / name).mkdir()
        folders.begin(plan(*tasks), "", tmp_path / name)
        session(tmp_path / name, 1, run(1, 0), run(2, 1))
    runs = folders.load([tmp_path / "one", tmp_path / "two"])
    assert runs.tasks == ("a", "b", "c")
    rows = [[*row.values()] for row in runs.table.only("configuration", "task").records()]
    assert sorted(rows) == [[0, 0], [0, 1], [1, 1], [1, 2]]


@pytest.mark.parametrize(
    "bad", [run(1, 5), run(1, -1), run(1, 0, cell=1), run(1, 0, trial=10**9), run(1, 0, trial=0)]
)
def test_a_run_of_no_plan_is_refused(tmp_path: Path, bad: Run) -> None:
    whole = plan("a")
    folders.begin(whole, "", tmp_path)
    session(tmp_path, 1, bad)
    with pytest.raises(StoreError, match=r"has a run|is damaged"):
        folders.load([tmp_path])
    with pytest.raises(StoreError, match=r"has a run|is damaged"):
        folders.go_on(whole, "", tmp_path)


def test_each_kind_of_folder_names_the_command_of_the_other(tmp_path: Path) -> None:
    folders.begin(plan("a"), "", tmp_path)
    with pytest.raises(StoreError) as refused:
        plan_file.read(tmp_path)
    assert f"tare tasks report {tmp_path}" in (refused.value.hint or "")
    other = tmp_path / "other"
    other.mkdir()
    (other / plan_file.FILE).write_text("{}")
    with pytest.raises(StoreError) as refused:
        folders.load([other])
    assert f"tare report {other}" in (refused.value.hint or "")


def test_a_damaged_plan_is_said(tmp_path: Path) -> None:
    (tmp_path / folders.FILE).write_text('{"version": 2}')
    with pytest.raises(StoreError, match="is damaged"):
        folders.load([tmp_path])
    for version in (1, 99):
        (tmp_path / folders.FILE).write_text(f'{{"version": {version}}}')
        with pytest.raises(StoreError, match=f"another tare .layout {version}, this one reads 2"):
            folders.load([tmp_path])


@pytest.mark.parametrize(
    "bad",
    [
        '"began_ns":' + "9" * 400, '"lane":-1', '"run":1.5', '"result":"won"',
        '"values":{"cpu_ns":{"cgroup":"1"}}', '"values":{"cpu_ns":{"cgroup":' + "9" * 400 + "}}",
        '"why":{"type":"message","id":"no.such","args":{}}',
        '"why":{"type":"message","id":"tasks.differs.text","args":{}}',
    ],
)  # fmt: skip
def test_a_damaged_run_is_said(tmp_path: Path, bad: str) -> None:
    folders.begin(plan("a"), "", tmp_path)
    session(tmp_path, 1, run(1, 0))
    path = tmp_path / "journal/1.ndjson"
    # Of two values the last one counts.
    path.write_text(path.read_text().rstrip()[:-1] + f",{bad}}}\n")
    with pytest.raises(StoreError):
        folders.load([tmp_path])


def test_a_joined_page_leaves_those_of_its_folders(tmp_path: Path) -> None:
    paths = [tmp_path / "monday", tmp_path / "tuesday"]
    for path in paths:
        path.mkdir()
        folders.begin(plan("a", "b"), "", path)
        session(path, 1, run(1, 0), run(2, 1, "wrong"))
        report(path)
    before = [(path / "report.html").read_bytes() for path in paths]
    report(*paths)
    assert [(path / "report.html").read_bytes() for path in paths] == before
    assert "tuesday" in (paths[0] / "joined.html").read_text()
    assert not (paths[1] / "joined.html").exists()


def report(*paths: Path) -> None:
    words = ["tasks", "report", *map(str, paths)]
    done = invoke(*words, catch=False)
    assert done.exit_code == 0


def test_a_folder_is_not_joined_with_itself(tmp_path: Path) -> None:
    folders.begin(plan("a"), "", tmp_path)
    with pytest.raises(UsageError, match="named twice"):
        folders.load([tmp_path, tmp_path / "."])


def test_a_link_to_other_journals_is_not_followed(tmp_path: Path) -> None:
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        folders.begin(plan("a"), "", tmp_path / name)
    session(tmp_path / "other", 1, run(1, 0))
    (tmp_path / "own/journal").symlink_to(tmp_path / "other/journal")
    with pytest.raises(StoreError, match="is a link"):
        folders.load([tmp_path / "own"])


def test_levels_stand_in_commands(tmp_path: Path) -> None:
    work = msgspec.structs.replace(SOLVE, command=("./solve", "--step={step}", "{task}"))
    one = plan("a")
    cells = (Cell(cell=0, workload=work, platform="bare", others={"task": "/a", "step": "2"}),)
    folders.begin(msgspec.structs.replace(one, cells=cells), "", tmp_path)
    (found,) = folders.load([tmp_path]).configurations
    assert found.command == ("./solve", "--step=2", "{task}")
