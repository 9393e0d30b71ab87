"""What forty commands write is what they wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import COMMANDS, Command

import golden


@pytest.fixture(scope="session")
def stage() -> Iterator[golden.Stage]:
    with golden.Stage() as playing:
        yield playing


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_it_writes_what_it_wrote(stage: golden.Stage, command: Command) -> None:
    found = golden.differences(command, stage.play(command))
    assert not found, f"{found}\n(tests/golden/golden.py bless {command.name}, if it is meant)"


def test_a_change_is_seen(stage: golden.Stage) -> None:
    command = next(one for one in COMMANDS if one.name == "run-missing")
    written = stage.play(command)
    changed = written | {"screen": written["screen"].replace("not found", "not there")}
    assert "+tare: ./nothing: not there" in golden.differences(command, changed)
    assert "-tare: ./nothing: not found" in golden.differences(command, {})


def test_rounding_is_no_difference_and_a_number_is_one() -> None:
    command = next(one for one in COMMANDS if one.name == "audit-pyperf")
    written = golden.expected(command)
    number = next(n for n in golden._NUMBER.findall(written["a.json"]) if len(n) > 14)
    rounded = written["a.json"].replace(number, repr(float(number) * (1 + 1e-13)))
    assert rounded != written["a.json"]
    assert not golden.differences(command, written | {"a.json": rounded})
    other = written["a.json"].replace(number, repr(float(number) * (1 + 1e-4)))
    assert number in golden.differences(command, written | {"a.json": other})
