"""Options: how they are typed, what their values become, and what a shell completes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest

from tare import decoding
from tare.errors import Typed, UsageError
from tare.experiment.file import template
from tare.features.measure.run.options import RunOptions
from tare.options import completion, kinds
from tare.options.command import leaves
from tare.options.option import Options, Parsed, argument, flag, like, option
from tare.options.parsing import parse
from tare.wiring import ROOT

PROJECT = Path(__file__).parents[2]


class Some(Options):
    foreign: ClassVar[dict[str, str]] = {"--runs": Typed("-n")}

    files: list[str] = argument(kinds.WORD, "FILE…", "", repeatable=True)
    count: int | None = option(kinds.whole(1, 100), "", short="-n")
    wait: float = option(kinds.DURATION, "", default=1.0)
    pair: tuple[str, str] | None = option(kinds.WORD, "", short="-P", words=2)
    each: list[str] = option(kinds.WORD, "", repeatable=True)
    codes: tuple[int, ...] | None = option(kinds.EXITS, "", short="-i", bare="all")
    shell: str | None = option(kinds.WORD, "", short="-S", spellings={"-N": "none"})
    quiet: bool = flag("", short="-q")
    probe: bool = flag("", default=True)
    levels: list[str] = option(kinds.WORD, "", repeatable=True, more=r"[a-z]+=\S+")
    waits: tuple[float, ...] = option(kinds.by_commas(kinds.DURATION, "times", "TIME,…"), "")


class Apart(Options):
    spec: list[str] = argument(kinds.WORD, "SPEC…", "", repeatable=True)
    command: list[str] = argument(kinds.WORD, "-- COMMAND…", "", repeatable=True, after_dashes=True)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("", {"files": (), "count": None, "wait": 1.0, "quiet": False, "probe": True}),
        ("-n 3 a b", {"count": 3, "files": ["a", "b"]}),
        ("-n3 a --wait=90ms b", {"count": 3, "wait": 0.09, "files": ["a", "b"]}),
        ("a -- --count 3 -q", {"files": ["a", "--count", "3", "-q"], "count": None}),
        ("-P -n 1 x", {"pair": ("-n", "1"), "files": ["x"], "count": None}),
        ("--pair=a b x", {"pair": ("a", "b"), "files": ["x"]}),
        ("--each 1 --each=2", {"each": ["1", "2"]}),
        ("-i 1 --each -", {"codes": (), "files": ["1"], "each": ["-"]}),
        ("-i=1,2", {"codes": (1, 2)}),
        ("--codes=3", {"codes": (3,)}),
        ("-N", {"shell": "none"}),
        ("-S 'bash'", {"shell": "'bash'"}),
        ("-q --no-probe", {"quiet": True, "probe": False}),
        ("--probe", {"probe": True}),
        ("-", {"files": ["-"]}),
        (
            "a=1 --levels b=2 c=3 x d=4 -- e=5",
            {"levels": ["b=2", "c=3"], "files": ["a=1", "x", "d=4", "e=5"]},
        ),
        (
            "--levels a=1 -q b=2 --levels c=3 -- d=4",
            {"levels": ["a=1", "c=3"], "files": ["b=2", "d=4"]},
        ),
        ("--waits 10ms,1s", {"waits": (0.01, 1.0)}),
    ],
)
def test_what_is_typed_becomes_values(words: str, values: dict[str, Any]) -> None:
    found = parse("tare x", Some, words.split())
    assert {name: getattr(found, name) for name in values} == values


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("--cuont 3", "tare x has no option --cuont", "tare x --count 3"),
        ("-z", "tare x has no option -z", "tare x --help"),
        ("--runs 3", "tare x has no option --runs", "tare x -n 3"),
        ("--count", "--count has no value", "--count 1"),
        ("--waits 1s,2", "--waits '1s,2' has no unit of time", "--waits 90s"),
        ("--waits 1s,", "--waits '1s,' is not possible; expected times", None),
        ("--count --quiet", "--count has no value", "--count 1"),
        ("--count -- a", "--count has no value", "--count 1"),
        ("--count -n 2", "--count has no value: -n is an option", "--count 1"),
        (
            "--each -n 2",
            "--each has no value: -n is an option",
            "write --each TEXT, or --each=-n if that is its value",
        ),
        ("-P a", "--pair takes TEXT", "write --pair TEXT"),
        ("-P a -n 3", "--pair takes TEXT: -n is an option", "write --pair TEXT"),
        ("-n 0", "--count '0' is below 1", "--count 1"),
        ("-n 1.5", "--count '1.5' is no whole number", "--count 1"),
        (
            "-n 101",
            "--count '101' is not possible; expected a whole number from 1 to 100",
            "--count 1",
        ),
        ("--wait 5", "--wait '5' has no unit of time", "--wait 90s"),
        ("-n 1 -n 2", "--count is given 2 times, and takes one value", "-n 2"),
        ("--quiet=1", "--quiet takes no value", "--quiet"),
        ("-Nx", "-N takes no value", "-N"),
        ("--codes=x", "--codes 'x' does not begin with a number", "--codes=1"),
        ("--codes=1_0", "--codes '1_0' ", None),
        ("--sh", "tare x has no option --sh", "tare x --shell"),
        ("--codes=300", "--codes '300' is not possible", None),
    ],
)
def test_what_cannot_be_understood_is_refused(words: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as found:
        parse("tare x", Some, words.split())
    assert found.value.message.startswith(message)
    if hint is not None:
        assert found.value.hint == hint


def test_bytes_that_are_no_text_are_refused_as_a_value() -> None:
    with pytest.raises(UsageError, match=r"^--each '.udcff' is not UTF-8"):
        parse("tare x", Some, ["--each", "\udcff"])
    assert parse("tare x", Some, ["\udcff"]).files == ["\udcff"]


def test_what_follows_two_dashes_may_be_an_argument_of_its_own() -> None:
    found = parse("tare x", Apart, ["a", "b", "--", "c", "--spec", "--", "d"])
    assert (found.spec, found.command) == (["a", "b"], ["c", "--spec", "--", "d"])


def test_an_argument_too_much_and_one_too_few_are_refused() -> None:
    class One(Options):
        file: str = argument(kinds.WORD, "FILE", "", is_required=True)

    with pytest.raises(UsageError, match="tare x takes no 'b' there"):
        parse("tare x", One, ["a", "b"])
    with pytest.raises(UsageError, match="tare x needs FILE"):
        parse("tare x", One, [])


def test_a_class_takes_options_over_changes_them_and_leaves_them_out() -> None:
    class Other(Some):
        wait: float = like(Some.records["wait"], default=2.0)
        each: Any = None

    assert Other().wait == 2.0
    assert "each" not in Other.records
    assert list(Other.records)[:3] == ["files", "count", "wait"]


def test_an_experiment_gets_what_was_typed_and_no_defaults() -> None:
    given = parse("tare run", RunOptions, ["-n", "9", "-w", "2", "--setup", "true", "x"])
    assert given.keys("stopping") == {"trials": Parsed(9)}
    assert given.keys("experiment") == {"warmup": Parsed(2)}
    # Each command has its own.
    assert given.keys("command") == {}


def test_no_name_stands_for_two_options() -> None:
    for path, command in leaves(ROOT):
        names = [
            n for o in command.options.records.values() if not o.is_argument for n in o.all_names
        ]
        assert len({*names, "--help", "-h"}) == len(names) + 2, path


def complete(*words: str) -> list[str]:
    return [candidate for candidate, _ in completion.candidates(ROOT, words)]


def test_commands_and_options_of_every_group_are_completed() -> None:
    assert complete("comp") == ["compare"]
    assert {"serve", "measure", "emulate"} <= set(complete("net", ""))
    assert complete("--ver") == ["--version"]
    assert complete("run", "--setu") == ["--setup"]
    assert complete("run", "--no-f") == ["--no-fingerprint"]
    assert "--out" not in complete("run", "--out", "x", "--")
    assert "--platform" in complete("run", "-p", "bare", "--")
    assert complete("run", "--", "--") == []
    assert complete("nothing", "") == []


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("run", "-p", "do"), {"docker"}),
        (("run", "--platform=do"), {"--platform=docker"}),
        (("compare", "--metric", "w"), {"wall", "wait"}),
        (("run", "--pinning", ""), {"none", "spread", "compact", "pinned"}),
        (("run", "--application", "ff"), {"ffmpeg"}),
        (("compare", "--gate-on", "p"), {"p90"}),
    ],
)
def test_values_are_completed(words: tuple[str, ...], values: set[str]) -> None:
    assert values <= set(complete(*words))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run --platform = do", "docker"),
        ("run --platform =", "bare"),
        ("run --network bucket : c5.l", "c5.large"),
        ("run --setu", "--setup"),
    ],
)
def test_bash_completes_its_own_words(words: str, found: str, tmp_path: Path) -> None:
    """As bash divides them: at = and : as well."""
    script = tmp_path / "complete.bash"
    script.write_text(completion.SCRIPTS["bash"])
    tare = tmp_path / "tare"
    start = "import sys; from tare.__main__ import main; main()"
    tare.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$@"\n')
    tare.chmod(0o755)
    asked = (
        f"source {script}; COMP_WORDS=({tare} {words}); COMP_CWORD={len(words.split())}; _tare; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == found


def test_the_schema_takes_example_files_and_refuses_other_keys() -> None:
    schema = json.loads((PROJECT / "schema" / "experiment.json").read_text())
    texts = [template(), *(f.read_text() for f in (PROJECT / "examples").glob("*.toml"))]
    for text in texts:
        jsonschema.validate(decoding.toml(text), schema)
    wrong = decoding.toml(texts[0])
    wrong["experiment"]["trails"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)
