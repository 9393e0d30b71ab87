"""``tare calibrate forget`` removes what later sessions would cite, and says what that was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_calibration_remembered import calibrated, remember
from typer.testing import CliRunner

from tare import state
from tare.cli.app import app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    return tmp_path


def forget(*words: str) -> str:
    done = CliRunner().invoke(app, ["calibrate", "forget", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_it_says_what_was_removed(folder: Path) -> None:
    remember(calibrated())
    said = " ".join(forget().split())
    assert (
        "Removed the calibration of 2026-05-01 10:00 by linpack (size 1000) on bare: linear" in said
    )
    assert str(folder / state.CALIBRATIONS) in said
    assert "No calibration of this machine is remembered." in forget()


def test_programs_read_the_same(folder: Path) -> None:
    remember(calibrated())
    told = json.loads(forget("--json", "-"))
    assert told["file"] == str(folder / state.CALIBRATIONS)
    assert [(one["platform"], one["verdict"]) for one in told["removed"]] == [("bare", "linear")]
    assert json.loads(forget("--json", "-")) == {"version": 1, "file": None, "removed": []}


def test_it_is_another_command_and_no_word_of_a_sweep() -> None:
    assert "Usage: tare calibrate forget" in forget("--help")
