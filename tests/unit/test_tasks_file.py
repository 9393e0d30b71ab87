"""Files of task sets: what is refused, and which tasks are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.errors import ExperimentError, Typed
from tare.experiment.catalogue import catalogue
from tare.experiment.file import parse as parse_experiment
from tare.features.tasks.file import find, parse
from tare.features.tasks.specification import TaskSet

SMALL = """
[tasks]
files = "*.in"
timeout = "1 s"
{more}
[[workload]]
command = ["./solve"]
"""


def read(more: str = "", text: str = SMALL) -> TaskSet:
    return parse(text.format(more=more), "set.toml", catalogue())[1]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[task]\nfiles = 1", "task: is no key", "[tasks] in place of [task]"),
        ("[experiment]\ntrials = 3", "this is no task set", "tare experiment run set.toml"),
    ],
)
def test_what_is_no_task_set_is_told_apart_from_a_misspelt_one(
    text: str, said: str, hint: str
) -> None:
    with pytest.raises(ExperimentError, match=said) as refused:
        parse(text, "set.toml", catalogue())
    assert refused.value.hint == hint


def test_a_task_is_standard_input_unless_the_command_names_it() -> None:
    experiment, _ = parse(SMALL.format(more=""), "my set.toml", catalogue())
    assert experiment.name == "my-set"
    assert experiment.workloads[0].input == "{task}"
    named = SMALL.replace('"./solve"', '"./solve", "{{task}}"')
    experiment, _ = parse(named.format(more=""), "set.toml", catalogue())
    assert experiment.workloads[0].input is None


def test_limits_of_the_set_hold_for_workloads_without_their_own() -> None:
    text = SMALL.format(more='enforce = { cpu = "2 s" }') + (
        'timeout = "5 s"\n[[workload]]\nname = "b"\ncommand = ["./b"]\n'
        'enforce = { memory = "1 MiB" }\n'
    )
    first, second = parse(text, "set.toml", catalogue())[0].workloads
    assert (first.timeout_s, first.enforce and first.enforce.cpu_s) == (5, 2)
    assert second.timeout_s == 1
    assert second.enforce is not None
    assert (second.enforce.cpu_s, second.enforce.memory_bytes) == (None, 1 << 20)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('expected = "out"', "tasks.expected"),
        ('compare = "exact"', "says nothing without expected"),
        ('expected = "*.out"\ntolerance = 0.1', "is of numbers"),
        ('expected = "*.out"\ncompare = "numeric"\ntolerance = 2', "tasks.tolerance"),
        ('checker = ["./c", "{input}"]', "{input} is no file of a task"),
        ('checker = ["./c", "{expected}"]', "{expected} is no file of a task"),
        ('checker = ["./c"]\ncompare = "exact"', "excludes checker"),
        ("parallel = 0", "tasks.parallel"),
        ("trial = 2", "tasks.trial: is no key"),
        ("enforce = { cpus = 1 }", "tasks.enforce.cpus: is no key"),
        ("seed = 1", "tasks.seed: is a key of [experiment]"),
        ("[experiment]\ntrials = 3", "experiment.trials: is a key of [tasks]"),
        ('[experiment]\nfresh = "run"', "experiment.fresh: is not"),
        ("[factors]\nworkers = [2]", "factors.workers: is no factor of a task set"),
        ('[factors]\ntask = ["a"]', "factors.task"),
        ("[network]\nhosts = 2", "network: is no key"),
    ],
)
def test_what_says_nothing_is_refused(more: str, said: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        read(more)
    assert said in refused.value.message


@pytest.mark.parametrize(
    "workload",
    [
        'kernel = "exp_float"',
        'command = ["./a"]\nprepare = "true"',
        'command = ["./a"]\ninput = "one.txt"',
        'command = ["./a"]\ntrials = 2',
    ],
)
def test_a_workload_takes_tasks(workload: str) -> None:
    text = SMALL.replace('command = ["./solve"]', workload)
    with pytest.raises(ExperimentError):
        read(text=text)


def test_a_run_without_end_is_not_possible() -> None:
    with pytest.raises(ExperimentError, match="timeout"):
        read(text=SMALL.replace('timeout = "1 s"', ""))


def test_each_command_names_the_other() -> None:
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(SMALL.format(more=""), "set.toml", catalogue())
    assert refused.value.hint == "tare tasks run set.toml"
    with pytest.raises(ExperimentError) as refused:
        parse('[experiment]\nname = "a"\nquestion = "b"', "e.toml", catalogue())
    assert refused.value.hint == "tare experiment run e.toml"


def test_tasks_are_in_the_order_of_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("10.in", "9.in", "a.in", "note.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.in").mkdir()
    (tmp_path / "link.in").symlink_to(tmp_path / "9.in")
    found = find(read(), "set.toml")
    assert [task.name for task in found] == ["9.in", "10.in", "a.in", "link.in"]
    assert found[0].input == str(tmp_path / "9.in")
    assert found[0].digest == found[3].digest != found[1].digest


def test_a_changed_answer_is_another_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/1.in").write_text("1")
    asked = TaskSet(files=("tests/*.in",), expected="../answers/*.txt")
    with pytest.raises(ExperimentError, match=r"1 of 1 tasks have none: .*answers/1\.txt"):
        find(asked, "set.toml")
    (tmp_path / "answers/1.txt").write_text("2")
    before = find(asked, "set.toml")
    (tmp_path / "answers/1.txt").write_text("3")
    assert find(asked, "set.toml")[0].answer != before[0].answer


def test_a_pattern_that_matches_nothing_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExperimentError, match="matches no file") as refused:
        find(read(), "set.toml")
    assert str(tmp_path) in (refused.value.hint or "")


def test_a_pattern_is_proposed_with_its_wildcards_alone_unquoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExperimentError, match="matches no file") as refused:
        find(TaskSet(files=("a b/$(id)[0-9]?/*.in",)), "set.toml")
    hint = refused.value.hint
    assert isinstance(hint, Typed)
    assert hint.command == "ls 'a b/$(id)'[0-9]?/*.in"
