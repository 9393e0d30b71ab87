"""Replayed commands write what they wrote before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import document
import pytest
from commands import COMMANDS, Command

import golden


@pytest.fixture(scope="session")
def stage() -> Iterator[golden.Stage]:
    with golden.Stage() as playing:
        yield playing


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_output_is_as_expected(stage: golden.Stage, command: Command) -> None:
    found = golden.differences(command, golden.compared(command, stage.play(command)))
    assert not found, f"{found}\n(tests/golden/golden.py bless {command.name}, if it is meant)"


def test_each_expected_file_belongs_to_a_command() -> None:
    found = {str(p.relative_to(golden.EXPECTED)) for p in golden.EXPECTED.rglob("*") if p.is_file()}
    assert found == {f"{command.name}/{name}" for command in COMMANDS for name in command.compared}


def test_a_changed_word_a_missing_file_and_another_exit_code_are_differences(
    stage: golden.Stage,
) -> None:
    command = next(one for one in COMMANDS if one.name == "run-missing")
    outputs = stage.play(command)
    assert not golden.differences(command, golden.compared(command, outputs))
    assert "-tare: ./nothing: not found" in golden.differences(command, {})
    for old, new in (("not found", "not there"), ("exit code 15", "exit code 16")):
        changed = {"screen": outputs["screen"].replace(old, new)}
        difference = golden.differences(command, golden.compared(command, changed))
        assert any(new in line for line in difference.splitlines() if line.startswith("+"))


def _with(name: str, file: str, change: Any) -> str:
    """Return the differences of a command whose expected document was changed."""
    command = next(one for one in COMMANDS if one.name == name)
    texts = golden.expected(command)
    value = json.loads(texts[file])
    change(value)
    return golden.differences(command, texts | {file: document.written(value) + "\n"})


def test_rounding_is_not_a_difference_but_a_number_a_next_line_and_an_exit_code_are() -> None:
    def scaled(factor: float) -> Any:
        def change(value: Any) -> None:
            value["document"]["series"][0]["median"] *= factor

        return change

    assert not _with("audit-pyperf", "a.json", scaled(1 + 1e-8))
    assert '"median"' in _with("audit-pyperf", "a.json", scaled(1 + 1e-4))
    assert '"next"' in _with("audit-pyperf", "a.json", lambda v: v.update(next=["tare doctor"]))
    assert '"exit"' in _with("audit-pyperf", "a.json", lambda v: v.update(exit=3))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[50].update(time=rows[50]["time"] * 1.01),
        lambda rows: rows[50].update(time=-rows[50]["time"]),
        lambda rows: rows[50].update(count=rows[50]["count"] + 1),
        lambda rows: rows[50].update(verdict="slower"),
        lambda rows: rows[50].update(ok=False),
        lambda rows: rows[50].update(absent=1.0),
        lambda rows: rows[50].pop("time"),
        lambda rows: rows[50]["interval"].reverse(),
        lambda rows: rows.pop(50),
        lambda rows: rows.insert(50, rows.pop(51)),
    ],
)
def test_a_change_of_an_omitted_row_shows_in_its_digest(change: Any) -> None:
    def rows() -> list[dict[str, Any]]:
        return [
            {
                "time": 0.5 + i / 7, "count": i * i, "verdict": "equivalent", "ok": True,
                "absent": None, "interval": [i / 3, i / 3 + 1],
            }
            for i in range(100)
        ]  # fmt: skip

    before, changed = document.shortened(rows()), rows()
    assert len(before) == 4
    change(changed)
    after = document.settled(before, document.shortened(changed))
    assert document.written(after) != document.written(before)


def test_rounding_of_omitted_rows_is_not_a_difference() -> None:
    rows = [{"time": (-1) ** i * (0.5 + i / 7)} for i in range(100)]
    noisy = [{"time": row["time"] * (1 + 1e-9 * (i % 3))} for i, row in enumerate(rows)]
    before, after = document.shortened(rows), document.shortened(noisy)
    assert before != after
    assert document.settled(before, after) == before
