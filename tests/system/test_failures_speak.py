"""Programs that fail say why: on the terminal, in files for a CI, on the first screen of a page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as Xml

import chromium
import cli
import pytest
from cli import TARE

from tare.experiment import journal
from tare.render.escaping import ORDERS

pytestmark = pytest.mark.system


PROGRAMS = {
    "always": "echo 'cannot open /tmp/lock' >&2; echo 'giving up' >&2; exit 3",
    "third": """
        n=$(cat "$0.count" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.count"
        test $((n % 3)) != 1 || { echo "another one holds the lock" >&2; exit 4; }
    """,
    "signal": "echo 'about to die' >&2; kill -SEGV $$",
    "slow": "echo 'still waiting for the lock' >&2; sleep 30",
    "rubbish": r"printf '\033]0;owned\007\033[2J\377\376\000rubbish\202\n' >&2; exit 1",
    "long": "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'the end' >&2; exit 1",
    "silent": "exit 7",
    "good": "exit 0",
}
WORDS = {
    "always": '"cannot open /tmp/lock" / "giving up"',
    "third": '"another one holds the lock"',
    "signal": '"about to die"',
    "slow": '"still waiting for the lock"',
    "rubbish": r'"\x1b]0;owned\x07\x1b[2J',
    "long": '"the end"',
}
LOCKED = WORDS["third"].strip('"')


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def tare(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    done = cli.run(*words, cwd=folder)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.encode(), done.stderr.encode()
    )


def words(done: subprocess.CompletedProcess[bytes]) -> str:
    """What was said, as one line; nothing in it is obeyed by a terminal."""
    text = (done.stdout + done.stderr).decode()
    assert not ORDERS.search(text)
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "how", "lines"),
    [
        ("always", "ended with exit code 3", ["cannot open /tmp/lock", "giving up"]),
        ("signal", "was ended by signal 11", ["about to die"]),
        ("rubbish", "ended with exit code 1", [r"\x1b]0;owned\x07\x1b[2J"]),
        ("long", "ended with exit code 1", ["the end"]),
    ],
)
def test_a_command_that_always_fails_says_why(
    programs: Path, name: str, how: str, lines: list[str]
) -> None:
    done = tare(programs, "run", "-n", "4", "--timeout", "60 s", "--json", "found.json", "--",
                f"./{name}")  # fmt: skip
    assert done.returncode == 15
    told = words(done)
    assert how in told
    assert all(line in told for line in lines)
    assert "--output" not in told
    error = json.loads((programs / "found.json").read_text())
    assert lines[0].encode().decode("unicode_escape") in json.dumps(error).encode().decode(
        "unicode_escape"
    )


def test_who_says_nothing_is_told_to_be_silent(programs: Path) -> None:
    told = words(tare(programs, "run", "-n", "4", "--", "./silent"))
    assert "exit code 7" in told
    assert "keep what it wrote with --output FILE" in told


def test_a_command_that_fails_now_and_then_says_why(programs: Path) -> None:
    done = tare(programs, "run", "-n", "9", "--no-fingerprint", "--out", "out",
                "--json", "found.json", "--", "./third")  # fmt: skip
    assert done.returncode == 18
    assert "exit code 4" in words(done)
    assert WORDS["third"] in words(done)
    # The nine are there: to go on with them measures nine more.
    assert words(done).endswith("hint: repair what fails, then measure it again with another --out")
    found = json.loads((programs / "found.json").read_text())
    failed = [one["stderr"] for one in found["trials"] if one["status"] == "failed"]
    assert failed[:2] == [None, LOCKED]
    # Few trials had a pipe for standard error.
    begun = [line for line in journal.read_all(programs / "out")
             if isinstance(line, journal.TrialStart)]  # fmt: skip
    assert [one.error_captured for one in begun].count(True) == 3


def test_a_comparison_says_why_wherever_it_is_told(programs: Path) -> None:
    done = tare(programs, "compare", "-n", "9", "--junit", "found.xml", "--markdown", "found.md",
                "--json", "found.json", "--report", "found.html", "./good", "./third")  # fmt: skip
    assert done.returncode == 0, "less than a quarter of all trials failed"
    assert WORDS["third"] in words(done)
    assert WORDS["third"] in (programs / "found.xml").read_text()
    assert LOCKED in (programs / "found.md").read_text()
    (failure,) = json.loads((programs / "found.json").read_text())["failures"]
    assert failure["stderr"] == LOCKED
    assert LOCKED in (programs / "found.html").read_text()


def test_a_comparison_that_cannot_answer_leaves_no_earlier_answer(programs: Path) -> None:
    for name in ("found.xml", "found.md"):
        (programs / name).write_text("STALE")
    done = tare(programs, "compare", "--gate", "3%", "--budget", "3s", "--junit", "found.xml",
                "--markdown", "found.md", "./good", "./always")  # fmt: skip
    assert done.returncode == 1
    assert "giving up" in words(done)
    assert Xml.parse(programs / "found.xml").find(".//failure") is not None
    assert "giving up" in (programs / "found.xml").read_text()
    assert "giving up" in (programs / "found.md").read_text()


FILE = """
[experiment]
name = "locks"
question = "Which program is fast?"
fingerprint = false
trials = 8
[[workload]]
command = "./good"
[[workload]]
command = "./third"
[[workload]]
command = "./{name}"
timeout = "0.5 s"
"""


@pytest.mark.parametrize(
    "name",
    [
        "rubbish",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("always", "signal", "slow", "long")
        ),
    ],
)
def test_an_experiment_says_first_what_was_given_up(programs: Path, name: str) -> None:
    (programs / "locks.toml").write_text(FILE.format(name=name))
    done = tare(programs, "experiment", "run", "locks.toml")
    assert done.returncode == 18
    told = words(done)
    first, *further = done.stdout.decode().splitlines()
    assert f"“{name}”" in first
    (question,) = (one for one in further if one.startswith("Question: "))
    assert f'question = "{question.removeprefix("Question: ")}"' in FILE
    assert WORDS[name] in told
    assert WORDS["third"] in told
    if chromium.binary() is None:
        pytest.skip("Chromium is not installed")
    with chromium.Browser() as page:
        for size in ((1200, 800), (390, 844)):
            page.show(programs / "locks/report.html", *size)
            shown = page.ask(
                "[...document.querySelectorAll('.failed')]"
                ".map(e => [e.textContent, e.getBoundingClientRect().bottom])"
            )
            # The cells that are short of trials, then each workload that failed.
            *_, first, last = shown
            assert len(shown) <= 3
            assert all(bottom < size[1] for _, bottom in shown), shown
            assert WORDS[name] in first[0]
            assert WORDS["third"] in last[0]


def test_an_experiment_in_which_all_fails_says_why(programs: Path) -> None:
    (programs / "locks.toml").write_text(
        FILE.format(name="always").replace("./good", "./silent").replace("./third", "./signal")
    )
    done = tare(programs, "experiment", "run", "locks.toml")
    assert done.returncode == 15
    told = words(done)
    assert "giving up" in told
    assert "about to die" in told
    assert "exit code 7" in told
    assert "“always”" in (programs / "locks/report.html").read_text()


def test_where_one_platform_always_fails_the_other_is_shown_and_what_to_type(
    tmp_path: Path,
) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not here")
    program = tmp_path / "reads"
    program.write_text("#!/bin/sh\ncat input.txt\n")
    program.chmod(0o755)
    (tmp_path / "input.txt").write_text("1\n")

    done = tare(
        tmp_path, "run", "-n", "3", "-p", "bare", "-p", "bubblewrap", "--json", "found.json",
        "--", "./reads",
    )  # fmt: skip

    assert done.returncode == 15
    bare = next(line for line in done.stdout.decode().splitlines() if line.startswith("bare"))
    assert bare.split()[-2:] == ["3", "–"]
    assert "hint: name" in words(done)
    document = json.loads((tmp_path / "found.json").read_text())
    assert [len(document[key]) for key in ("comparisons", "trials")] == [0, 3]


@pytest.mark.parametrize("command", [["run", "-n", "2", "--"], ["compare", "true"]])
def test_what_is_no_text_is_refused(tmp_path: Path, command: list[str]) -> None:
    done = subprocess.run(
        [*TARE, *command, os.fsencode("/bin/echo ") + b"\xfe"],
        cwd=tmp_path, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 10
    assert "is not UTF-8" in words(done)
    assert "fault of tare" not in words(done)


def test_one_word_that_is_a_file_is_not_divided(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "a b").chmod(0o755)
    done = tare(tmp_path, "run", "-n", "2", "--", "./a b")
    assert done.returncode == 0, done.stderr
    done = tare(tmp_path, "run", "-n", "2", "--", "./c\x1b[31m")
    assert done.returncode == 15
    assert "./c\\x1b[31m: not found" in words(done)
