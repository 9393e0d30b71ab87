"""What is typed next is what was typed, with a change."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from inprocess import invoke

from tare.cli import again as module
from tare.cli.again import FILES, again
from tare.errors import UsageError
from tare.features.measure.comparison import next_steps, session
from tare.features.measure.run import next_step as run_step
from tare.features.measure.run.command import run
from tare.options.measuring import SessionOptions
from tare.wiring import SUPPLIES


@pytest.fixture(autouse=True)
def known() -> None:
    """Remember the options of tare run, as its command line does."""
    module.remember(run.names)


@pytest.mark.parametrize(
    ("typed", "changes", "next_"),
    [
        ("-w 1 -- a 'b c'", {"--budget": "1 min"}, "-w 1 --budget '1 min' -- a 'b c'"),
        ("--budget 1s a --budget=2s", {"--budget": "3 s"}, "a --budget '3 s'"),
        ("-p bare -- a -p x", {"--platform": "unshare"}, "--platform unshare -- a -p x"),
        ("--resume --out o a b", {"--resume": None}, "--out o a b --resume"),
        ("-p bare -p docker -- a", {"--platform": "vm"}, "--platform vm -- a"),
        ("-pbare --platform=docker a", {"--platform": "vm"}, "a --platform vm"),
        ("-n3 -i -p docker a", {"--trials": "6"}, "-i -p docker a --trials 6"),
        # What an option has as its value is none.
        ("--name -p --name x a", {"--platform": "vm"}, "--name -p --name x a --platform vm"),
        ("--set --resume a", {"--resume": None}, "--set --resume a --resume"),
        ("-L n 1,2 -L m 3,4 a", {"--budget": "3 s"}, "-L n 1,2 -L m 3,4 a --budget '3 s'"),
        ("-P -n 1 8 a", {"--trials": "6"}, "-P -n 1 8 a --trials 6"),
        ("-L n 1,2 -L m 3 a", {"--parameter-list": None}, "a --parameter-list"),
        ("--no-fingerprint a", {"--fingerprint": None}, "a --fingerprint"),
    ],
)  # fmt: skip
def test_options_are_added_and_replaced(typed, changes, next_, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    assert again("run", changes) == f"tare run {next_}"


@pytest.mark.parametrize(
    ("typed", "next_"),
    [
        ("-p bare -p docker sort -x", "-p bare -p docker -- sort -x"),
        ("-p bare -pdocker sort -x 1", "-p bare -pdocker -- sort -x 1"),
        ("--parameter-list sort 1,2 sort -r", "--parameter-list sort 1,2 -- sort -r"),
        ("-P sort 1 2 -D 1 --resume sort -n F", "-P sort 1 2 -D 1 --resume -- sort -n F"),
        ("-n 3 sort -n FILE -p x", "-n 3 -- sort -n FILE -p x"),
    ],
)
def test_what_is_measured_begins_behind_all_options_and_their_values(typed, next_, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    assert module.measures_options()
    assert module.separated() == f"tare run {next_}"


@pytest.mark.parametrize(
    "typed",
    [
        "-p bare -p docker --size 1c --application x",
        "-p docker -- sort -n",
        "'sort -n' -n 3",
        "sort -n 3 --export-json",
        "-n 3",
    ],
)
def test_where_no_program_is_followed_by_options_they_are_all_of_tare(typed, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    assert not module.measures_options()
    assert "sort --" not in (module.separated() or "")


def test_a_command_of_two_words_is_typed_again(monkeypatch):
    typed = ["tare", "experiment", "run", "a b.toml", "--skip-missing"]
    monkeypatch.setattr("sys.argv", typed)
    found = again("experiment run", {"--out": "o", "--resume": None})
    assert found == "tare experiment run 'a b.toml' --skip-missing --out o --resume"


def test_several_levels_are_a_factor_of_an_experiment() -> None:
    for before, application in ((["sort"], ""), (["--application", "x"], " --application x")):
        typed = ["run", *before, "--size", "1c", "--size", "2c"]
        error = invoke(*typed).exception
        assert isinstance(error, UsageError)
        assert f"tare experiment new mine.toml{application}   (a list of size" in error.hint


def test_options_are_left_out(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "compare", "-n", "6", "a", "b"])
    assert again("compare", {"--budget": "2 s"}, ["--trials"]) == "tare compare a b --budget '2 s'"


def test_files_of_the_answer_to_another_question_are_left_out(monkeypatch):
    typed = "-n 6 --json a.json --save=b.json --report r.html --out o -- a --json c"
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    found = again("run", {"--platform": "unshare"}, FILES)
    assert found == "tare run -n 6 --out o --platform unshare -- a --json c"


@pytest.mark.parametrize(
    ("there", "of_application", "proposed"),
    [
        ({"docker", "runc"}, True, "docker"),
        ({"runc"}, True, "runc"),
        (set(), True, "unshare"),
        ({"docker", "runc"}, False, "unshare"),
    ],
)
def test_a_container_that_is_there_is_proposed_for_an_application(
    there, of_application, proposed, monkeypatch
):
    monkeypatch.setattr("sys.argv", ["tare", "run", "--application", "wordpress"])
    monkeypatch.setattr(run_step.shutil, "which", lambda name: name if name in there else None)
    found = run_step._further("bare", of_application=of_application)
    typed = f"tare run --application wordpress --platform {proposed}"
    assert found.command == typed


@pytest.mark.parametrize(
    ("paired", "then"), [(True, "--out o a --budget '3 s' --resume"), (False, "a --budget '3 s'")]
)
def test_a_session_that_is_compared_with_a_baseline_is_not_resumed(paired, then, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "compare", "--out", "o", "a"])
    monkeypatch.setattr(next_steps.causes, "cpu_metric", lambda *_: None)
    monkeypatch.setattr(next_steps.console, "seconds", lambda _: "3 s")
    comparison = SimpleNamespace(more_pairs=10, n=6)
    found = [
        SimpleNamespace(
            comparison=comparison,
            block_seconds=0.1,
            paired=paired,
            gated=None,
            needs_longer_limit=lambda _: False,
        )
    ]
    wanted = session.Execution(SUPPLIES, SessionOptions(out=Path("o")))
    step = next_steps.next_step(found, SimpleNamespace(ended="finished"), wanted)
    assert step is not None
    assert step.command == f"tare compare {then}"


@pytest.mark.parametrize(
    ("n", "more", "seconds"), [(1, None, 65.0), (7, None, None), (9, 3, 110.0)]
)
def test_where_pairs_are_too_few_to_say_how_many_a_budget_for_the_first_look_is_proposed(
    n, more, seconds, monkeypatch
):
    monkeypatch.setattr("sys.argv", ["tare", "compare", "a", "b"])
    monkeypatch.setattr(next_steps.causes, "cpu_metric", lambda *_: None)
    asked = []
    monkeypatch.setattr(next_steps.console, "seconds", lambda value: str(asked.append(value)))
    comparison = SimpleNamespace(more_pairs=more, n=n)
    found = [
        SimpleNamespace(
            comparison=comparison,
            block_seconds=6.0,
            paired=True,
            gated=None,
            few=None,
            needs_longer_limit=lambda _: False,
        )
    ]
    wanted = session.Execution(SUPPLIES)
    next_steps.next_step(found, SimpleNamespace(ended="finished"), wanted)
    # All pairs are measured anew, and half as many more.
    assert asked == ([] if seconds is None else [seconds])


@pytest.mark.parametrize(("budget", "proposed"), [(20.0, 40.0), (2.0, 11.0)])
def test_a_budget_that_was_too_short_is_never_proposed_again(budget, proposed, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "ci", "./bench"])
    monkeypatch.setattr(next_steps.causes, "cpu_metric", lambda *_: None)
    asked = []
    monkeypatch.setattr(next_steps.console, "seconds", lambda value: str(asked.append(value)))
    found = [
        SimpleNamespace(
            comparison=SimpleNamespace(n=20), block_seconds=0.1, paired=True, gated=None, few=None,
            failures=None, gate=lambda _: "inconclusive", more_pairs=lambda _: 40,
            needs_longer_limit=lambda _: False,
        )
    ]  # fmt: skip
    wanted = session.Execution(SUPPLIES, gate=0.05)
    stopping = SimpleNamespace(budget_s=budget)
    results = SimpleNamespace(ended="budget", experiment=SimpleNamespace(stopping=stopping))
    next_steps.next_step(found, results, wanted)
    assert asked == [pytest.approx(proposed)]
