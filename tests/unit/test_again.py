"""What is typed next is what was typed, with a change."""

from __future__ import annotations

import shlex

import pytest

from tare.cli.again import FILES, again


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
