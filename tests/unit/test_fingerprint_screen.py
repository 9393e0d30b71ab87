"""What a person reads of a fingerprint."""

from __future__ import annotations

import fingerprints
import msgspec
import pytest

from tare.experiment.fingerprints.machine.document import Figure
from tare.features.machine.fingerprint import screen
from tare.features.machine.fingerprint.picture import staircase


def shown(capsys: pytest.CaptureFixture[str], found: object, *, named: bool = False) -> str:
    screen.show(found, named=named)  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_every_figure_has_its_row_with_unit_interval_and_rounds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(capsys, fingerprints.make())
    (row,) = [line for line in text.splitlines() if line.startswith("memory.latency.dram")]
    assert " ns " in row
    assert "[" in row
    assert row.rstrip().endswith("× 1.5")


def test_many_of_a_kind_share_a_row_unless_they_were_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = fingerprints.make()
    text = shown(capsys, found)
    assert "call.int.0…7" in text
    assert "call.int.3 " not in text
    text = shown(capsys, found, named=True)
    assert "call.int.3 " in text
    assert "5 cycles" not in text
    assert "5 cycles" in shown(capsys, fingerprints.make(only="call"), named=True)


def test_what_is_missing_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    found = fingerprints.make()
    text = shown(capsys, found).replace("\n", " ")
    for problem in found.problems:
        assert f"Missing {problem.probe}: {problem.why}" in text


def test_too_few_rounds_have_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, fingerprints.make(rounds=5))
    (row,) = [line for line in text.splitlines() if line.startswith("memory.latency.l1")]
    assert "–" in row
    assert "[" not in row


def test_a_value_of_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {"steal.share": Figure(value=0.0, ci=(0.0, 0.0), unit="1", n=7, predicted=0.0)}
    found = msgspec.structs.replace(fingerprints.make(), metrics=nothing)
    assert "steal.share" in shown(capsys, found)


def test_the_staircase_rises_and_marks_what_was_found() -> None:
    lines = staircase(fingerprints.make())
    picture = [line[11:] for line in lines if "│" in line]
    first, last = (next(line for line in some if "•" in line) for some in (picture, picture[::-1]))
    assert first.rindex("•") > last.rindex("•")
    assert all("┊" in line or "•" in line for line in picture)
    assert "caches found: L1 48" in lines[-1]


def test_where_there_is_no_staircase_nothing_is_drawn() -> None:
    found = fingerprints.make()
    assert staircase(msgspec.structs.replace(found, curves={})) == []
    flat = msgspec.structs.replace(
        found.curves["memory.latency"],
        points=tuple(
            msgspec.structs.replace(point, value=1.0)
            for point in found.curves["memory.latency"].points
        ),
    )
    assert staircase(msgspec.structs.replace(found, curves={"memory.latency": flat})) == []


def test_what_holds_for_several_in_a_row_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    figure = Figure(value=1.0, ci=None, unit="ns", n=1, why="the host hides it")
    other = msgspec.structs.replace(figure, why="known")
    some = {"a.1": figure, "a.2": figure, "b": other}
    found = msgspec.structs.replace(fingerprints.make(), metrics=some, curves={}, problems=())
    lines = [line.split()[0] for line in shown(capsys, found, named=True).splitlines() if line]
    lines = lines[lines.index("a.1") :]
    assert lines == ["a.1", "a.2", "the", "b", "known"]
