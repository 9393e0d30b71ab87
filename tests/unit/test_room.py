"""Where probes may write files, and why they may not elsewhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from said import args

from tare.errors import ExperimentError
from tare.experiment.session import scratch_space
from tare.results.message import Amount

MIB = 1 << 20


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let there be one directory, on a disk of this machine."""
    monkeypatch.setattr(scratch_space, "_candidates", lambda: [tmp_path])
    found = SimpleNamespace(disk=SimpleNamespace(kind="ssd", file_system="ext4"))
    monkeypatch.setattr(scratch_space.hardware, "read", lambda folder: found)
    return tmp_path


def test_a_file_takes_a_quarter_of_what_is_free(
    only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_space, "_free", lambda folder: 400 * MIB)
    assert scratch_space.disk(None, 50 * MIB) == (only, 50 * MIB, None)
    assert scratch_space.disk(None, 300 * MIB) == (only, 100 * MIB, None)


def test_a_full_disk_is_refused(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_space, "_free", lambda folder: 8 * MIB)
    folder, size, why = scratch_space.disk(None, 64 * MIB)
    assert (folder, size) == (None, 64 * MIB)
    assert args(why, "has only") == {"folder": str(only), "free": Amount(8 * MIB, "bytes")}


def test_what_may_not_be_written_is_refused(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_space.os, "access", lambda folder, how: False)
    assert args(scratch_space.disk(None, MIB)[2], "is not writable") == {"folder": str(only)}


@pytest.mark.parametrize("kind", ["memory", "remote"])
def test_what_is_no_disk_is_taken_only_if_it_is_named(
    only: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found = SimpleNamespace(disk=SimpleNamespace(kind=kind, file_system="tmpfs"))
    monkeypatch.setattr(scratch_space.hardware, "read", lambda folder: found)
    monkeypatch.setattr(scratch_space, "_free", lambda folder: 400 * MIB)
    refused = args(scratch_space.disk(None, MIB)[2], ", not on")
    assert refused == {"folder": str(only), "file_system": "tmpfs"}
    assert scratch_space.disk(only, MIB) == (only, MIB, None)


def test_a_directory_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="missing"):
        scratch_space.disk(tmp_path / "missing", MIB)
