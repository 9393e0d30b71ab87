"""``tare calibrate forget`` removes what later sessions would cite, and says what that was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inprocess import invoke
from said import template
from test_calibration_remembered import calibrated, remember

from tare.features.calibration import forget_command
from tare.host import state
from tare.results.message import Message


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    return tmp_path


def forget(*words: str) -> str:
    done = invoke("calibrate", "forget", *words, catch=False)
    assert done.exit_code == 0
    return done.stdout


def test_it_says_what_was_removed(folder: Path) -> None:
    remember(calibrated())
    said = [one.said for _ in range(2) for one in forget_command.forget().entries]
    removed, file, nothing = (one for one in said if isinstance(one, Message))
    assert removed.args == {
        "date": "2026-05-01 10:00",
        "workload": "linpack (size 1000)",
        "platform": "bare",
        "verdict": "linear",
    }
    assert file.args == {"file": str(folder / state.CALIBRATIONS)}
    assert template(nothing) == "no calibration of"


def test_programs_read_the_same(folder: Path) -> None:
    remember(calibrated())
    told = json.loads(forget("--json", "-"))
    assert told["file"] == str(folder / state.CALIBRATIONS)
    assert [(one["platform"], one["verdict"]) for one in told["removed"]] == [("bare", "linear")]
    nothing = json.loads(forget("--json", "-"))
    assert (nothing["file"], nothing["removed"]) == (None, [])


def test_it_is_another_command_and_no_word_of_a_sweep() -> None:
    usage = forget("--help")
    assert "calibrate forget" in usage
    assert "--quotas" not in usage
