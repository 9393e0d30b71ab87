"""Leases that strangers could have written are not acted on."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from tare.errors import PlatformError
from tare.host import lease
from tare.host.kernel_files import KernelFiles
from tare.host.settings import restore


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "leases"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(lease, "_folders", lambda: [folder])
    return folder


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_where_others_may_write_nothing_is_believed(mode: int, place: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    note = restore.Kept(
        name="tare-0123ab", pid=1, boot_id=None, since=0.0, wanted={"swappiness": "1"},
        saved={"swappiness": {"/victim": "theirs"}},
    )  # fmt: skip
    (place / "tare-0123ab.settings").write_bytes(msgspec.json.encode(note))
    (place / "tare-0123ab.lease").touch()
    # Otherwise it is what a dead session left.
    assert [one.name for one in restore.remnants(KernelFiles(tmp_path))] == ["tare-0123ab"]
    assert lease.sessions() == {"tare-0123ab": False}
    place.chmod(mode)
    assert restore.remnants(KernelFiles(tmp_path)) == []
    assert lease.sessions() == {}
    with pytest.raises(PlatformError), lease.hold(lease.new_name()):
        pass
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    "name",
    [
        "/victim",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/../../victim",
        "/proc/self/root/victim",
        "/proc/1/root/victim",
    ],
)
def test_no_file_but_the_kernels_is_put_back(name: str, place: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    swappiness = tmp_path / "proc/sys/vm/swappiness"
    swappiness.parent.mkdir(parents=True)
    swappiness.write_text("1")
    pattern = tmp_path / "proc/sys/kernel/core_pattern"
    pattern.parent.mkdir()
    pattern.write_text("core")
    for link in ("proc/self/root", "proc/1/root"):
        (tmp_path / link).parent.mkdir()
        (tmp_path / link).symlink_to(tmp_path)
    note = restore.Kept(
        name="tare-0123ab", pid=1, boot_id=None, since=0.0, wanted={"swappiness": "1"},
        saved={"swappiness": {name: "theirs", "/proc/sys/vm/swappiness": "60"}},
    )  # fmt: skip
    with pytest.raises(PlatformError, match="no such setting") as caught:
        restore.put_back(note, KernelFiles(tmp_path))
    assert name in caught.value.message
    assert (tmp_path / "victim").read_text() == "mine"
    assert (swappiness.read_text(), pattern.read_text()) == ("60", "core")


def test_a_setting_that_is_not_known_stays_noted(place: Path, tmp_path: Path) -> None:
    note = restore.Kept(
        name="tare-0123ab", pid=1, boot_id=None, since=0.0, wanted={"newer": "1"},
        saved={"newer": {"/proc/sys/vm/newer": "60"}},
    )  # fmt: skip
    (place / "tare-0123ab.settings").write_bytes(msgspec.json.encode(note))
    [left] = restore.remnants(KernelFiles(tmp_path))
    with pytest.raises(PlatformError, match=r"could not put back newer \(/proc/sys/vm/newer"):
        left.remove()
    assert restore.exists("tare-0123ab")


@pytest.mark.timeout(30)
def test_nobody_waits_for_a_pipe_among_leases(place: Path, tmp_path: Path) -> None:
    for name in ("tare-0123ab.lease", "tare-0123ab.settings"):
        os.mkfifo(place / name)
    assert lease.sessions() == {"tare-0123ab": False}
    assert lease.folders() == set()
    assert restore.remnants(KernelFiles(tmp_path)) == []


def test_a_link_to_another_folder_of_this_user_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unpacked").mkdir(mode=0o700)
    (tmp_path / "unpacked/tare-0123ab.lease").touch()
    link = tmp_path / "link"
    link.symlink_to("unpacked")
    monkeypatch.setattr(lease, "_folders", lambda: [link])
    assert lease.places() == []
    assert lease.sessions() == {}
