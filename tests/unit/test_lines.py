"""What is typed to be measured: commands, parameters, lines around them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tare.cli import again
from tare.cli.lines import Around, Line, scanned, typed
from tare.errors import ExperimentError, Typed
from tare.features.measure.run.command import run
from tare.features.measure.run.exports import Trial, as_hyperfine
from tare.options.option import Parsed


def lines(
    *arguments: str, around: Around | None = None, names: tuple[str, ...] = (), **parameters: str
) -> list[Line]:
    values = [(name, tuple(text.split(","))) for name, text in parameters.items()]
    return typed(arguments, around or Around(), names, values, several=False)


def test_the_words_of_one_command_are_not_several() -> None:
    (one,) = lines("python3", "-c", "import time")
    assert one.words == ["python3", "-c", "import time"]
    assert (one.name, one.text) == ("python3", "python3 -c 'import time'")


def test_a_command_is_longer_than_any_name_of_a_file() -> None:
    """Whether it is a file is asked before it is divided into words."""
    command = f"python3 -c 'pass # {300 * 'x'}'"
    first, second = lines(command, "true")
    assert (first.text, second.text) == (command, "true")
    (one,) = lines("a/b " + 5000 * "x")
    assert one.text.startswith("a/b ")
    with pytest.raises(ExperimentError, match="there is no folder"):
        lines("true", around=Around(directories=(300 * "x",)))


def test_lines_are_several_commands() -> None:
    a, b = lines("sleep 0.1", "sleep 0.2")
    assert (a.words, b.words) == (["sleep", "0.1"], ["sleep", "0.2"])
    assert (a.name, b.name) == ("sleep 0.1", "sleep 0.2")


def test_names_or_a_shell_make_lines_of_single_words() -> None:
    assert [one.words for one in lines("a", "b", names=("x", "y"))] == [["a"], ["b"]]
    assert [one.words for one in lines("a", "b", around=Around(shell="none"))] == [["a"], ["b"]]
    (one,) = lines("a | b", around=Around(shell="bash -e"))
    assert one.words == ["bash", "-e", "-c", "a | b"]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with two programs, a script for python3, and a file that is no program."""
    monkeypatch.chdir(tmp_path)
    again.remember(run.names)
    for name, first in (("a", "#!/bin/sh"), ("b", "#!/bin/sh"), ("p", "#!/usr/bin/env python3.11")):
        Path(name).write_text(f"{first}\n")
        Path(name).chmod(0o755)
    Path("text").write_text("a")
    Path("python").symlink_to(sys.executable)
    return tmp_path


@pytest.mark.parametrize(
    ("typed_", "several"),
    [
        ("./a ./b", "tare compare ./a ./b"),
        ("-n 5 --budget 1s ./a ./b ./p", "tare compare -n 5 --budget 1s ./a ./b ./p"),
        ("--quantile p90 ./a ./b", "tare run --shell none --quantile p90 ./a ./b"),
    ],
)
def test_programs_that_may_be_one_command_or_several_are_refused(
    typed_: str, several: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = typed_.split()
    monkeypatch.setattr("sys.argv", ["tare", "run", *words])
    arguments = words[words.index("./a") :]
    with pytest.raises(ExperimentError, match=r"\./b may be a command of its own, or") as refused:
        lines(*arguments)
    assert isinstance(refused.value.hint, Typed)
    options = " ".join(["", *words[: words.index("./a")]])
    one = f"tare run{options} -- {' '.join(arguments)}"
    assert refused.value.hint == f"{several}   (several commands; one and its arguments: {one})"


@pytest.mark.parametrize(
    "typed_",
    [
        "-- ./a ./b", "python3 ./p", "env ./a", "time ./a", "/usr/bin/env ./a", "./a b", "./a text",
        "./a ./text", "./a", "./a 1 ./b", "./python ./p",
    ],
)  # fmt: skip
def test_programs_with_other_arguments_are_one_command(
    typed_: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "run", *typed_.split()])
    arguments = typed_.removeprefix("-- ").split()
    (one,) = lines(*arguments)
    assert one.words == arguments


def test_every_combination_of_parameters_is_a_line() -> None:
    found = lines("f {a} {b}", "g {a}{b}", a="1,2", b="x,y")
    assert [one.text for one in found] == [
        "f 1 x", "f 1 y", "f 2 x", "f 2 y", "g 1x", "g 1y", "g 2x", "g 2y",
    ]  # fmt: skip
    assert found[0].name == "f (a=1, b=x)"
    assert found[0].parameters == {"a": "1", "b": "x"}
    assert lines("f {a}", a="1,2")[1].name == "a=2"


def test_a_parameter_may_be_the_whole_command() -> None:
    assert [one.words for one in lines("{x} 1", x="a b,c")] == [["a", "b", "1"], ["c", "1"]]


def test_words_of_one_command_have_parameters_too() -> None:
    found = typed(["f", "{a}"], Around(), (), [("a", ("1", "2"))], several=False)
    assert [one.words for one in found] == [["f", "1"], ["f", "2"]]


def test_lines_around_are_once_or_once_for_each() -> None:
    hooks = {
        "setup": ("s {a}",), "prepare": ("p1", ""), "conclude": ("c {a}",), "cleanup": ("e",),
    }  # fmt: skip
    around = Around(hooks, None, (1, 2))
    first, *_, last = lines("f {a}", "g {a}", around=around, a="1,2")
    assert first.options == {
        "setup": "s 1", "prepare": "p1", "conclude": "c 1", "cleanup": "e",
        "ignore_failure": Parsed((1, 2)),
    }  # fmt: skip
    # An empty line is none, as in hyperfine.
    assert last.options == {
        "setup": "s 2", "conclude": "c 2", "cleanup": "e", "ignore_failure": Parsed((1, 2)),
    }  # fmt: skip
    (bash,) = lines("f 1", around=Around({"prepare": ("a; b",)}, shell="bash"))
    assert bash.options == {"prepare": "a; b", "shell": ["bash"]}
    (both,) = lines("f 1", around=Around(ignore_failure=()))
    assert both.options == {"ignore_failure": Parsed(())}


@pytest.mark.parametrize(
    ("scan", "step", "values"),
    [
        (("n", "1", "3"), None, ("1", "2", "3")),
        (("n", "1", "10"), "4", ("1", "5", "9")),
        (("n", "0.1", "0.3"), "0.1", ("0.1", "0.2", "0.3")),
        (("n", "-1", "1"), None, ("-1", "0", "1")),
    ],
)
def test_a_scan_goes_from_a_number_to_a_number(
    scan: tuple[str, str, str], step: str | None, values: tuple[str, ...]
) -> None:
    assert scanned([scan], step, ()) == [("n", values)]


def test_a_list_may_have_commas_and_nothing_in_it() -> None:
    assert scanned((), None, [("v", "a\\,b,,c")]) == [("v", ("a,b", "", "c"))]


@pytest.mark.parametrize(
    ("scan", "step", "listed", "told"),
    [
        (("n", "3", "1"), None, (), "3 is above 1"),
        (("n", "3", "1"), "-1", (), "3 is above 1"),
        (("n", "1", "3"), "-1", (), "the step -1 is not above 0"),
        (("n", "1", "x"), None, (), "no numbers"),
        (("n", "1", "3"), "x", (), "--parameter-step-size 'x' is no number"),
        (("n", "1", "NaN"), None, (), "NaN"),
        (("n", "1", "1e9"), None, (), "1000 are the most"),
        (("n", "1", "2"), "0", (), "the step 0 is not above 0"),
        ((), "2", (), "is that of a --parameter-scan"),
        ((), None, (("n", "1,1"),), "'1' is there twice"),
        (("n", "1", "2"), None, (("n", "1"),), "'n' is given twice"),
    ],
)
def test_wrong_parameters_are_refused(
    scan: tuple[str, ...], step: str | None, listed: tuple[str, ...], told: str
) -> None:
    with pytest.raises(ExperimentError, match=told):
        scanned([scan] if scan else (), step, listed)


def test_wrong_lines_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"no command has the parameter \{a\}"):
        lines("f 1", a="1,2")
    with pytest.raises(ExperimentError, match="3 times for 2 commands"):
        lines("f 1", "g 1", around=Around({"prepare": ("a", "b", "c")}))
    with pytest.raises(ExperimentError, match="3 names for 2 commands"):
        lines("f 1", "g 1", names=("a", "b", "c"))
    with pytest.raises(ExperimentError, match="1000 are the most"):
        lines("f {a} {b}", a=",".join(map(str, range(40))), b=",".join(map(str, range(40))))


def test_hyperfines_own_format(tmp_path: Path) -> None:
    """What it has is what hyperfine's readers and our own find there."""
    measured = [Line("a", "./a 1", ["./a", "1"], {"n": "1"}), Line("b", "./b", ["./b"])]
    values = {
        ("wall_ns", "switch"): 2e9, ("user_ns", "rusage"): 1e9, ("system_ns", "rusage"): 5e8,
        ("memory_bytes", "rusage"): 4096.0, ("exit_code", "wait"): 0.0,
    }  # fmt: skip
    trials = [
        Trial(k, "a", "bare", "ok", None, None,
              {**values, ("wall_ns", "switch"): 2e9 + k * 1e8})
        for k in range(6)
    ]  # fmt: skip
    trials.append(Trial(6, "b", "bare", "failed", "exit code 3", "", values))
    found = as_hyperfine(trials, measured)
    (one,) = found["results"]
    assert one["command"] == "./a 1"
    assert one["times"] == pytest.approx([2.0, 2.1, 2.2, 2.3, 2.4, 2.5])
    assert (one["mean"], one["median"]) == (pytest.approx(2.25), pytest.approx(2.25))
    assert (one["user"], one["system"]) == (1.0, 0.5)
    assert one["exit_codes"] == [0] * 6
    assert one["parameters"] == {"n": "1"}
    assert as_hyperfine(trials, measured, named=True)["results"][0]["command"] == "a"
    from tare import readers

    file = tmp_path / "hf.json"
    file.write_text(json.dumps(found))
    (series,) = readers.read(file).series
    assert list(series.values) == pytest.approx(one["times"])


def test_killed_runs_leave_no_mean_in_hyperfines_format() -> None:
    measured = [Line("a", "./a", ["./a"])]
    ended = [
        Trial(k, "a", "bare", "ok", None, None, {("wall_ns", "switch"): 2e9 + k * 1e8})
        for k in range(5)
    ]
    killed = [Trial(k, "a", "bare", "killed", "", None, {}, 3e9) for k in range(5, 9)]
    (one,) = as_hyperfine([*ended, *killed], measured)["results"]
    assert (one["mean"], one["stddev"], one["max"]) == (None, None, None)
    assert (one["min"], one["median"]) == (2.0, 2.4)
    (one,) = as_hyperfine([*ended, *killed, *killed], measured)["results"]
    assert one["median"] is None


def test_each_command_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = tuple(str(tmp_path / name) for name in ("a", "b"))
    for folder in folders:
        Path(folder).mkdir()
    found = typed(["x", "x"], Around(directories=folders), ["1", "2"], [], several=True)
    assert [line.options["directory"] for line in found] == [*folders]
    assert [line.options["environment"] for line in found] == [{"PWD": one} for one in folders]
    one = typed(["x", "y"], Around(directories=folders[:1]), [], [], several=True)
    assert {line.options["directory"] for line in one} == {folders[0]}
    for wrong in ((*folders, folders[0]), (str(tmp_path / "c"),)):
        with pytest.raises(ExperimentError):
            typed(["x", "y"], Around(directories=wrong), [], [], several=True)
