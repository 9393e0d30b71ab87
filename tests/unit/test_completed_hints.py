"""Hints of errors are completed to the command line that was typed, with what it lacks."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from inprocess import invoke

import tare
from tare.cli import again
from tare.errors import TareError, Typed, advice
from tare.experiment import availability_filter
from tare.features.calibration import matrix_entries
from tare.features.calibration.matrix import Combination
from tare.features.fleet.engine import Engine
from tare.features.fleet.laboratory import Refusal
from tare.features.machine.selftest.command import selftest
from tare.features.measure.compare.command import compare
from tare.features.measure.run.command import run
from tare.library.options import in_keywords
from tare.options.command import find
from tare.options.measuring import SessionOptions
from tare.registry import Availability
from tare.wiring import ROOT


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
    """Have two programs in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).write_text("#!/bin/sh\n")
        Path(name).chmod(0o755)


@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        ("compare -m 5 ./a ./b", "compare --min-trials 5 ./a ./b"),
        ("run --output inherit ./a", "run --output out.txt ./a"),
        ("compare ./a ./b --budget", "compare ./a ./b --budget 90s"),
        ("compare ./a ./b --gate", "compare ./a ./b --gate 2%"),
        ("compare --gate --budget 3s ./a ./b", "compare --gate 2% --budget 3s ./a ./b"),
        ("compare --gate=x ./a ./b --json r.json", "compare --gate 2% ./a ./b --json r.json"),
        ("compare --bisect ./a ./b", "compare --gate 2% --bisect ./a ./b"),
        ("compare --seed 1 --bisect ./a ./b", "compare --gate 2% --seed 1 --bisect ./a ./b"),
        ("run --budget -- ./a -n", "run --budget 90s -- ./a -n"),
        ("run -n 3 -n 5 -- ./a 'b c'", "run -n 5 -- ./a 'b c'"),
        ("run -n x -- ./a --trials 3", "run --trials 20 -- ./a --trials 3"),
        ("run --resume=yes --out o -- ./a", "run --resume --out o -- ./a"),
        ("run -p bare './a | wc' './b'", "run --shell sh -p bare './a | wc' ./b"),
        ("run --hosts 3 ./a", "run --network none --hosts 3 ./a"),
        ("doctor --fix governer --all", "doctor --fix governor --all"),
        # The name of an option, in its place.
        ("run --precison 1% -- ./a", "run --precision 1% -- ./a"),
        ("run --precison=1% -- ./a", "run --precision=1% -- ./a"),
        ("run --out o --runs 10 ./a", "run --out o -n 10 ./a"),
        ("run -c 'rm x' ./a", "run --cleanup 'rm x' ./a"),
        ("run --command-name 'my bench' ./a", "run --name 'my bench' ./a"),
        ("rum -n 5 ./a", "run -n 5 ./a"),
        (
            "run 'sleep {n}' -P n 1 3 -D x -n 3",
            "run 'sleep {n}' -P n 1 3 --parameter-step-size 1 -n 3",
        ),
        ("run --budget -n 3 ./a", "run --budget 90s -n 3 ./a"),
        ("run ./a -n 3 --export-json", "run ./a -n 3 --export-json -"),
        ("run -n a -n 'b c' -n 9 ./a ./b", "run --name a --name 'b c' -n 9 ./a ./b"),
        ("compare -na -n b ./a ./b", "compare --name a --name b ./a ./b"),
        ("ci make -- ./a", "ci --build make -- ./a"),
        ("ci --gate 2% make all -n 9 -- ./a x", "ci --gate 2% -n 9 --build 'make all' -- ./a x"),
        ("ci --build make ./a -- x", "ci --build make -- x"),
        ("net emulat --hosts 3 none -- ./a x", "net emulate --hosts 3 none -- ./a x"),
    ],
)  # fmt: skip
def test_a_misuse_is_answered_by_the_whole_command(typed, proposed):
    error = invoke(*shlex.split(typed)).exception
    assert isinstance(error, TareError)
    assert isinstance(error.hint, Typed)
    assert error.hint.command == f"tare {proposed}"


def test_one_word_in_place_of_a_number_may_be_a_name():
    error = invoke("run", "-n", "b c", "./a").exception
    assert error.hint == "tare run --trials 20 ./a   (for a name: --name 'b c')"


@pytest.mark.parametrize(
    ("command", "typed", "hint", "proposed"),
    [
        # All values of an option are replaced by those of the hint.
        ("selftest", "--false-alarms -p docker -p podman", "--platform bare",
         "tare selftest --false-alarms --platform bare"),
        ("compare", "--metric cpu ./a --metric wall ./b", "--metric cpu",
         "tare compare --metric cpu ./a ./b"),
        ("run", "-p bare ./a", "-p bare -p vm   (compares them)",
         "tare run -p bare -p vm ./a   (compares them)"),
        ("compare", "--no-fingerprint ./a ./b", "--fingerprint",
         "tare compare --fingerprint ./a ./b"),
        # Neither options of the command, nor what is no fragment.
        ("run", "./a", "--gate 3%", "--gate 3%"),
        ("run", "./a", "tare doctor", "tare doctor"),
    ],
)  # fmt: skip
def test_options_are_completed_in_their_place(command, typed, hint, proposed):
    names = {"run": run, "compare": compare, "selftest": selftest}[command].names
    again.remember(names, ["tare", command], shlex.split(typed))
    completed = again.completed(Typed(hint))
    assert completed == proposed
    assert isinstance(completed, Typed)


def test_words_are_advice():
    again.remember(run.names, ["tare", "run"], ["./a"])
    assert again.completed("leave --gate out") == "leave --gate out"
    assert advice("leave --gate out") == "hint: leave --gate out"
    assert advice(Typed("make setup   (builds it)")) == "try: make setup   (builds it)"
    # No command line is known that these complete.
    assert advice(Typed("sudo   (or use unshare)")) == "hint: run tare with sudo (or use unshare)"
    assert advice(Typed("--resume")) == "hint: add --resume"


def test_rights_are_asked_for_with_the_whole_command(monkeypatch):
    monkeypatch.setattr("sys.argv", [".venv/bin/tare", "run", "-n", "3", "./a b"])
    again.remember(run.names, ["tare", "run"], ["-n", "3", "./a b"])
    program = Path.cwd() / ".venv/bin/tare"
    assert again.completed(Typed("sudo   (or use unshare)")) == (
        f"sudo {program} run -n 3 './a b'   (or use unshare)"
    )


def test_several_names_that_begin_alike_are_words():
    error = invoke("run", "--para", "1", "--", "./a").exception
    assert isinstance(error, TareError)
    assert not isinstance(error.hint, Typed)
    assert error.hint == (
        "did you mean --parameter-scan, or --parameter-step-size, or --parameter-list?"
    )


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (lambda: tare.compare("./a", "./b", gate_on="mean"), 'try: gate="3%"'),
        (lambda: tare.run("./a", budget="x"), 'try: budget="90s"'),
        (lambda: tare.run("a|b"), 'try: shell="sh"   (runs each as a line of it)'),
        (lambda: tare.run("./a", resume=True), "hint: name the folder with out"),
    ],
)
def test_python_has_keywords(call, note):
    with pytest.raises(TareError) as raised:
        call()
    assert raised.value.__notes__ == [note]


def test_python_is_run_as_root():
    error = TareError("needs root's rights", Typed("sudo   (or use unshare)"))
    assert in_keywords(error, (), SessionOptions).hint == "run it as root (or use unshare)"
    assert not isinstance(error.hint, Typed)


@pytest.mark.parametrize("name", ["selftest", "fingerprint", "net fingerprint", "net measure"])
def test_commands_that_measure_can_be_quiet(name):
    _, found, used = find(ROOT, name.split())
    assert used == len(name.split())
    assert found.names["-q"] is found.names["--quiet"]


def test_what_was_left_out_says_in_words_to_run_it_as_root():
    found = Availability(
        name="runc", works=False, why="needs root", fix=Typed("sudo   (or use unshare)")
    )
    note = availability_filter._level_left_out("platform", "runc", found)
    assert "To have it: run tare with sudo (or use unshare)" in str(note)


@pytest.mark.parametrize(
    ("hint", "printed"),
    [
        (None, "a: no tare"),
        (Typed("ssh a true   (until it ends)"), "a: no tare   try: ssh a true   (until it ends)"),
        ("the same tare", "a: no tare   hint: the same tare"),
    ],
)
def test_the_hint_about_a_host_that_is_left_out_keeps_its_kind(hint, printed):
    notes = []
    fleet = SimpleNamespace(progress=SimpleNamespace(note=notes.append))
    host = SimpleNamespace(name="a")
    Engine.refuse(fleet, host, Refusal("no tare", hint))
    assert notes == [printed]
    assert isinstance(host.why.hint, Typed) == isinstance(hint, Typed)


def test_a_combination_without_rights_is_answered_by_the_whole_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["/opt/tare", "calibrate", "--settings", "turbo=off"])
    again.remember({}, ["tare", "calibrate"], ["--settings", "turbo=off"])
    one = Combination(
        settings={"turbo": "off"}, folder="a", state="left out", why="root", hint=Typed("sudo")
    )
    stopping = SimpleNamespace(stopping=SimpleNamespace(trials=1))
    made = SimpleNamespace(combinations=(one,), experiment=stopping, each_s=1.0)
    matrix_entries.announce(made, Path("out"))
    assert "  try: sudo /opt/tare calibrate --settings turbo=off\n" in capsys.readouterr().err
