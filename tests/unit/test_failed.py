"""No file keeps an earlier answer when the command that was to write it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from tare import wiring
from tare.cli import app, console, failed
from tare.errors import ExperimentError, InterruptError
from tare.options.command import leaves

OPTIONS = ("json", "junit", "markdown")


WRITING = [
    (tuple(path.split()[1:]), option)
    for path, command in leaves(wiring.ROOT)
    for option in OPTIONS
    if option in command.options.records
]


def enter(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["tare", *words])
    return wiring.enter()


def test_the_commands_are_found() -> None:
    assert {(("compare",), "junit"), (("experiment", "run"), "json")} <= set(WRITING)


@pytest.mark.parametrize(("path", "option"), WRITING, ids=lambda x: x if x in OPTIONS else None)
def test_a_wrong_option(
    path: tuple[str, ...], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answer"
    file.write_text("an earlier answer, which is longer than anything that is written in its place")
    code = enter(monkeypatch, *path, "--no-such-option", f"--{option}", str(file))
    assert code == app.USAGE
    text = file.read_text()
    assert "earlier" not in text
    assert "no-such-option" in text


def test_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {option: tmp_path / option for option in OPTIONS}
    words = [word for option, file in files.items() for word in (f"--{option}", str(file))]
    for file in files.values():
        file.write_text("an earlier answer")
    code = enter(monkeypatch, "compare", "only-one", *words)
    assert code == ExperimentError.exit_code
    error = json.loads(files["json"].read_text())["error"]
    assert (error["type"], error["exit_code"]) == ("ExperimentError", code)
    assert "only one command" in error["message"]
    assert "tare compare" in error["hint"]
    suites = Xml.parse(files["junit"]).getroot()
    assert suites.get("errors") == "1"
    assert [e.get("type") for e in suites.iter("error")] == ["ExperimentError"]
    assert "only one command" in files["markdown"].read_text()


@pytest.mark.parametrize(("ending", "begins"), [("html", "<!doctype"), ("md", "### tare failed")])
def test_a_report(
    ending: str, begins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"report.{ending}"
    assert enter(monkeypatch, "compare", "only-one", "--report", str(file)) == 11
    assert file.read_text().startswith(begins)
    assert "only one command" in file.read_text()


def test_a_file_that_can_hold_no_report_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    assert enter(monkeypatch, "compare", "only-one", "--report", str(file)) != 0
    assert file.read_text() == "mine"


@pytest.mark.parametrize("option", OPTIONS)
def test_standard_output(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(monkeypatch, "compare", "only-one", f"--{option}", "-") == 11
    assert "only one command" in capsys.readouterr().out


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("unforeseen")])
def test_an_interrupt_and_a_fault(
    raised: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answer.json"
    file.write_text("an earlier answer")

    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr("tare.experiment.remnants.cleanup", fail)
    code = enter(monkeypatch, "cleanup", "--json", str(file))
    assert code == (InterruptError.exit_code if isinstance(raised, KeyboardInterrupt) else 70)
    assert json.loads(file.read_text())["error"]["exit_code"] == code


@pytest.mark.parametrize(
    ("ending", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_the_exit_code_says_which_signal_it_was(
    ending: signal.Signals, code: int, tmp_path: Path
) -> None:
    file = tmp_path / "answer.json"
    script = (
        # A background job of a shell ignores SIGQUIT, and tare leaves an ignored signal alone.
        "import signal, time; signal.signal(signal.SIGQUIT, signal.SIG_DFL); "
        "from tare.wiring import main; "
        "import tare.experiment.remnants as remnants; "
        # Python runs the handler some time after the signal has come.
        f"end = lambda **_: (signal.raise_signal({int(ending)}), time.sleep(60)); "
        "remnants.cleanup = end; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "cleanup", "--json", str(file)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (code, "tare: interrupted")
    assert json.loads(file.read_text())["error"]["exit_code"] == code


def test_a_file_that_this_user_may_not_reach_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refused)
    assert enter(monkeypatch, "run", "--input", "/hidden/in.txt", "--", "cat") == 14
    said = capsys.readouterr().err
    assert "/hidden/in.txt" in said
    assert "permission denied" in said


def test_what_the_command_has_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answer.json"

    def fail(*_: object, **__: object) -> None:
        console.write_json({"removed": []}, str(file))
        raise ExperimentError("after writing")

    monkeypatch.setattr("tare.experiment.remnants.cleanup", fail)
    assert enter(monkeypatch, "cleanup", "--json", str(file)) == 11
    assert json.loads(file.read_text()) == {"removed": []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--json", "-", "--markdown", "-"), "--json and --markdown would mix in standard output"),
        (("--json", "one", "--junit", "one"), "--json and --junit would mix in one"),
    ],
)
def test_two_answers_do_not_mix(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert enter(monkeypatch, "compare", "true", "false", *words) == ExperimentError.exit_code
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("run", "--metric", "nonsense", "--", "true"), 11, "wall, cpu, memory, or another of"),
        (("experiment", "report", "nowhere"), 14, "name the folder that --out named"),
    ],
)
def test_a_hint_fits_what_was_typed(
    words: tuple[str, ...],
    code: int,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert enter(monkeypatch, *words) == code
    assert f"hint: {hint}" in capsys.readouterr().err


def test_two_answers_may_go_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(monkeypatch, "compare", "one", "--json", os.devnull, "--junit", os.devnull) == 11
    assert "only one command" in capsys.readouterr().err


def test_a_pipe_that_nobody_reads_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert enter(monkeypatch, "compare", "one", "--json", str(tmp_path / "pipe")) == 11


def test_a_message_cannot_leave_its_block() -> None:
    note = failed._written(failed.Failure("Fault", 70, "a ```` b\x1b[2J\u202e"), "markdown")
    head, _, block = note.partition("\n\n")
    assert "70" in head
    assert block == "`````\na ```` b\\x1b[2J\\u202e\n`````\n"


def test_a_second_signal_does_not_interrupt_what_is_said_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    script = """
import signal
from tare.wiring import main
import tare.experiment.remnants as remnants
from tare.cli import failed
write = failed.write
def interrupted(failure):
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    write(failure)
failed.write = interrupted
remnants.cleanup = lambda **_: signal.raise_signal(signal.SIGTERM)
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, "cleanup", "--json", str(file)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (143, "")
    assert "Traceback" not in done.stderr
    assert json.loads(file.read_text())["error"]["exit_code"] == 143


def test_the_command_has_its_name_however_it_was_called(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    words = ["compare", "only-one", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "tare", *words], capture_output=True, check=False, text=True
    )
    assert done.returncode == ExperimentError.exit_code
    assert json.loads(file.read_text())["command"] == "compare"


@pytest.mark.parametrize(
    "words", [("report",), ("audit",), ("run", "--input"), ("experiment", "run"), ("net", "plan")]
)
def test_a_word_that_is_too_long_for_a_file_is_no_fault(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = enter(monkeypatch, *words, 300 * "x", *(["--", "true"] if "--input" in words else []))
    assert 10 <= code < 20
    assert "fault of tare" not in capsys.readouterr().err


def test_two_spellings_of_one_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("one")
    for other in ("./one", str(tmp_path / "one"), "link"):
        words = ("--json", "one", "--markdown", other)
        assert enter(monkeypatch, "compare", "true", "false", *words) == ExperimentError.exit_code
        assert "--json and --markdown would mix in one" in capsys.readouterr().err
        assert not (tmp_path / "one").exists()
