"""What is typed next is what was typed, with a change."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from tare.cli.again import FILES, again
from tare.features.compare import screen
from tare.measure.comparison import session
from tare.wiring import SUPPLIES


@pytest.mark.parametrize(
    ("typed", "changes", "next_"),
    [
        ("-w 1 -- a 'b c'", {"--budget": "1 min"}, "-w 1 --budget '1 min' -- a 'b c'"),
        ("--budget 1s a --budget=2s", {"--budget": "3 s"}, "a --budget '3 s'"),
        ("-p bare -- a -p x", {"--platform": "unshare"}, "--platform unshare -- a -p x"),
        ("--resume --out o a b", {"--resume": None}, "--out o a b --resume"),
    ],
)  # fmt: skip
def test_options_are_added_and_replaced(typed, changes, next_, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    assert again("run", changes) == f"tare run {next_}"


def test_options_are_left_out(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "compare", "-n", "6", "a", "b"])
    assert again("compare", {"--budget": "2 s"}, ["--trials"]) == "tare compare a b --budget '2 s'"


def test_files_of_the_answer_to_another_question_are_left_out(monkeypatch):
    typed = "-n 6 --json a.json --save=b.json --report r.html --out o -- a --json c"
    monkeypatch.setattr("sys.argv", ["tare", "run", *shlex.split(typed)])
    found = again("run", {"--platform": "unshare"}, FILES)
    assert found == "tare run -n 6 --out o --platform unshare -- a --json c"


@pytest.mark.parametrize(
    ("paired", "then"), [(True, "--out o a --budget '3 s' --resume"), (False, "a --budget '3 s'")]
)
def test_a_session_that_is_compared_with_a_baseline_is_not_resumed(paired, then, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tare", "compare", "--out", "o", "a"])
    monkeypatch.setattr(screen, "by_cpu_time", lambda *_: None)
    monkeypatch.setattr(screen.console, "seconds", lambda _: "3 s")
    comparison = SimpleNamespace(more_pairs=10, n=6)
    found = [SimpleNamespace(comparison=comparison, seconds=0.1, paired=paired, gated=None)]
    wanted = session.Wanted(None, Path("o"), None, None, None, None, SUPPLIES)
    assert screen._next(found, None, None, wanted) == f"Next     tare compare {then}"
