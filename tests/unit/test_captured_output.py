"""What commands write is kept in one folder, whatever others do to it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tare.agent import record
from tare.errors import AgentError, StoreError
from tare.experiment.session.output import FOLDER, Outputs


def piece(data: bytes, trial: int = 1, stream: Literal["out", "err"] = "out") -> record.Output:
    said = base64.b64encode(data).decode()
    given: dict[str, Any] = {"id": 1, "worker": 0, "iteration": 0}
    return record.Output(trial=trial, stream=stream, data=said, **given)


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[Outputs]:
    kept = Outputs(tmp_path)
    yield kept
    kept.close()


def test_pieces_of_a_stream_are_joined(outputs: Outputs, tmp_path: Path) -> None:
    with outputs.trial(100) as keep:
        keep.add(piece(b"one "))
        keep.add(piece(b"two"))
        keep.add(piece(b"oh", stream="err"))
    found = {path.name: path.read_bytes() for path in (tmp_path / FOLDER).iterdir()}
    assert found == {"1.0.0.out": b"one two", "1.0.0.err": b"oh"}


def test_no_link_is_followed_to_a_file(outputs: Outputs, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    (tmp_path / FOLDER / "1.0.0.out").symlink_to(victim)
    (tmp_path / FOLDER / "2.0.0.out").symlink_to(tmp_path / "nowhere")
    for trial in (1, 2):
        with outputs.trial(100) as keep, pytest.raises(AgentError, match="second time"):
            keep.add(piece(b"attack", trial))
    assert victim.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


def test_who_puts_another_folder_in_its_place_gets_nothing(
    outputs: Outputs, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a").write_text("a")
    (tmp_path / FOLDER).rename(tmp_path / "away")
    (tmp_path / FOLDER).symlink_to(theirs)
    with outputs.trial(100) as keep:
        keep.add(piece(b"said"))
    assert [path.name for path in theirs.iterdir()] == ["a"]
    assert (tmp_path / "away" / "1.0.0.out").read_bytes() == b"said"


def test_a_link_is_no_folder_for_it(tmp_path: Path) -> None:
    (tmp_path / FOLDER).symlink_to(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        Outputs(tmp_path)


def test_an_agent_fills_no_disk(outputs: Outputs, tmp_path: Path) -> None:
    with outputs.trial(6) as keep:
        keep.add(piece(b"123456"))
        with pytest.raises(AgentError, match="more than 6 bytes"):
            keep.add(piece(b"7"))
    assert (tmp_path / FOLDER / "1.0.0.out").read_bytes() == b"123456"


@pytest.mark.parametrize("said", ["no base 64", "QUJD\n", "="])
def test_what_is_not_in_its_format_is_refused(outputs: Outputs, said: str) -> None:
    forged = record.Output(id=1, trial=1, worker=0, iteration=0, stream="out", data=said)
    with outputs.trial(100) as keep, pytest.raises(AgentError, match="base 64"):
        keep.add(forged)
