"""What commands write is kept in the files that workloads name, whatever others do to them."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tare.agent import record
from tare.errors import AgentError, StoreError
from tare.experiment.session import output
from tare.experiment.session.output import Outputs
from tare.render.words import text
from tare.results.message import Message

NAME = "kept/{trial}.out"
NOTES: list[Message] = []


def piece(
    data: bytes,
    trial: int = 1,
    stream: Literal["out", "err"] = "out",
    iteration: int = 0,
    worker: int = 0,
) -> record.Output:
    said = base64.b64encode(data).decode()
    given: dict[str, Any] = {"id": 1, "worker": worker, "iteration": iteration}
    return record.Output(trial=trial, stream=stream, data=said, **given)


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "KEPT_LIMIT_BYTES", 100)
    monkeypatch.setattr(output, "CAPTURE_LIMIT_BYTES", 101)
    NOTES.clear()


def opened(folder: Path, *names: str) -> Outputs:
    return Outputs(folder, names, NOTES.append)


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[Outputs]:
    kept = opened(tmp_path, NAME)
    yield kept
    kept.close()


def found(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}


def test_pieces_of_a_stream_are_joined(outputs: Outputs, tmp_path: Path) -> None:
    with outputs.trial(NAME, {}) as keep:
        keep.add(piece(b"one "))
        keep.add(piece(b"two"))
        keep.add(piece(b"oh", stream="err"))
    assert found(tmp_path) == {"1.out": b"one two", "1.out.err": b"oh"}


def test_a_file_is_there_without_output_and_one_of_errors_is_not(
    outputs: Outputs, tmp_path: Path
) -> None:
    with outputs.trial(NAME, {}) as keep:
        keep.add(piece(b""))
        keep.add(piece(b"", stream="err"))
    assert found(tmp_path) == {"1.out": b""}


def test_iterations_of_a_trial_follow_each_other(outputs: Outputs, tmp_path: Path) -> None:
    with outputs.trial(NAME, {}) as keep:
        for iteration in range(3):
            keep.add(piece(b"%d" % iteration, iteration=iteration))
            keep.add(piece(b"e" if iteration == 1 else b"", stream="err", iteration=iteration))
    assert found(tmp_path) == {"1.out": b"012", "1.out.err": b"e"}


def test_each_trial_begins_its_files_anew(tmp_path: Path) -> None:
    outputs = opened(tmp_path, "kept/all")
    (tmp_path / "kept/all").write_text("of an earlier session")
    for trial, error in ((1, b"oh"), (2, b"")):
        with outputs.trial("kept/all", {}) as keep:
            keep.add(piece(b"%d" % trial, trial))
            keep.add(piece(error, trial, "err"))
        assert found(tmp_path) == {"all": b"%d" % trial, **({"all.err": error} if error else {})}
    outputs.close()


def test_names_have_numbers_and_levels_but_no_folders_of_levels(tmp_path: Path) -> None:
    name = "kept/{workload}-{trial}.{worker}.{iteration}"
    outputs = opened(tmp_path, name)
    with outputs.trial(name, {"workload": "../a b", "platform": "bare"}) as keep:
        keep.add(piece(b"x", 3, iteration=4, worker=5))
    outputs.keep([piece(b"y", 3)], name, {"workload": "a"}, "host2")
    assert found(tmp_path) == {".._a b-3.5.4": b"x", "a-3.0.0.host2": b"y"}
    outputs.close()


def test_a_link_is_neither_followed_nor_removed(outputs: Outputs, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    (tmp_path / "kept/1.out").symlink_to(victim)
    (tmp_path / "kept/2.out").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "kept/3.out")
    for trial in (1, 2, 3):
        with outputs.trial(NAME, {}) as keep, pytest.raises(StoreError, match="is no file"):
            keep.add(piece(b"attack", trial))
    assert victim.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()
    assert (tmp_path / "kept/1.out").is_symlink()


def test_devices_and_links_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("/dev/zero", "/dev/stdout", "link"):
        with pytest.raises(StoreError, match="is no file"):
            opened(tmp_path, name)
    with pytest.raises(StoreError, match="a/b/c") as error:
        opened(tmp_path, "a/b/c/d")
    assert error.value.hint == f"mkdir -p {tmp_path}/a/b/c"


@pytest.mark.parametrize(
    "name", ["plan.json", "./report.html", "sub/../experiment.toml", "journal/1.ndjson", "tasks/1"]
)
def test_files_of_the_results_are_refused_before_anything_is_measured(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "sub").mkdir()
    kept = {tmp_path / "plan.json": "{}", tmp_path / "journal/1.ndjson": "line"}
    for path, content in kept.items():
        path.write_text(content)
    with pytest.raises(StoreError, match="belongs to the results"):
        opened(tmp_path, name)
    assert {path: path.read_text() for path in kept} == kept
    # Elsewhere, such a name is as good as any other.
    opened(tmp_path, "sub/plan.json", "out.json").close()


def test_a_level_does_not_name_a_file_of_the_results(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    outputs = opened(tmp_path, "{workload}.json")
    with (
        outputs.trial("{workload}.json", {"workload": "plan"}) as keep,
        pytest.raises(StoreError, match=r"plan\.json belongs to the results"),
    ):
        keep.add(piece(b"attack"))
    assert (tmp_path / "plan.json").read_text() == "{}"
    outputs.close()


def test_who_puts_another_folder_in_its_place_gets_nothing(
    outputs: Outputs, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a").write_text("a")
    (tmp_path / "kept").rename(tmp_path / "away")
    (tmp_path / "kept").symlink_to(theirs)
    with outputs.trial(NAME, {}) as keep:
        keep.add(piece(b"said"))
    assert [path.name for path in theirs.iterdir()] == ["a"]
    assert (tmp_path / "away" / "1.out").read_bytes() == b"said"


def test_a_link_is_no_folder_for_it(tmp_path: Path) -> None:
    (tmp_path / "kept").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        opened(tmp_path, NAME)


def test_an_agent_fills_no_disk(outputs: Outputs, tmp_path: Path) -> None:
    with outputs.trial(NAME, {}) as keep:
        keep.add(piece(b"x" * 100))
        with pytest.raises(AgentError, match="more than 101 bytes"):
            keep.add(piece(b"77"))
    assert found(tmp_path) == {"1.out": b"x" * 100}


def test_output_that_is_not_kept_whole_is_noted_once(outputs: Outputs, tmp_path: Path) -> None:
    for trial, size in ((1, 100), (2, 101), (3, 101)):
        with outputs.trial(NAME, {}) as keep:
            keep.add(piece(b"x" * size, trial))
        assert len(NOTES) == (trial > 1)
    assert found(tmp_path) == {f"{trial}.out": b"x" * 100 for trial in (1, 2, 3)}
    assert "kept/{trial}.out has the first 100 bytes" in text(NOTES[0])


def test_a_stream_comes_once(outputs: Outputs) -> None:
    with outputs.trial(NAME, {}) as keep:
        keep.add(piece(b"a"))
        keep.add(piece(b"a", iteration=1))
        with pytest.raises(AgentError, match="second time"):
            keep.add(piece(b"a"))


@pytest.mark.parametrize("said", ["no base 64", "QUJD\n", "="])
def test_what_is_not_in_its_format_is_refused(outputs: Outputs, said: str) -> None:
    forged = record.Output(id=1, trial=1, worker=0, iteration=0, stream="out", data=said)
    with outputs.trial(NAME, {}) as keep, pytest.raises(AgentError, match="base 64"):
        keep.add(forged)
