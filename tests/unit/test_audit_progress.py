"""Progress of an audit: silent while it is short, then what is done and the time left."""

from __future__ import annotations

import re

import pytest

from tare.cli import stages
from tare.cli.stages import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(stages.time, "monotonic", lambda: now[0])
    return now


def test_short_work_is_silent(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for done in range(10):
            clock[0] += 0.15
            progress("looking at series", done, 10)
    assert capsys.readouterr().err == ""


def test_a_log_is_told_the_time_left_now_and_then(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress:
        for done in range(31):
            progress("looking at series", done, 60)
            clock[0] += 1
    lines = capsys.readouterr().err.splitlines()
    assert [[int(n) for n in re.findall(r"\d+", line)] for line in lines] == [
        [10, 60, 50],
        [20, 60, 40],
        [30, 60, 30],
    ]
