"""Folders for the files of probes: nobody else can make one of their names first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare import platforms
from tare.errors import PlatformError
from tare.experiment import remnants
from tare.experiment.session import scratch_space
from tare.platforms import session_folder
from tare.platforms.docker import nested
from tare.platforms.layer import Place, Root, View
from tare.results.message import message


def test_a_folder_of_the_sessions_name_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "tare-0123ab-files").mkdir()
    with scratch_space.made(tmp_path, "tare-0123ab-files") as own:
        assert own is not None
        # Clean-ups find it by the session.
        assert own.name.startswith("tare-0123ab-files-")
        assert own.stat().st_mode & 0o777 == 0o700
        (own / "file").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["tare-0123ab-files"]


def test_where_none_can_be_made_there_is_none(tmp_path: Path) -> None:
    with scratch_space.made(tmp_path / "gone", "tare-0123ab-files") as own:
        assert own is None
    with scratch_space.made(None, "tare-0123ab-files") as own:
        assert own is None


def test_an_instances_folder_on_a_disk_is_open_to_all_in_it_and_removed(tmp_path: Path) -> None:
    with session_folder.on_disk(str(tmp_path), "tare-0123ab-4") as path:
        inside = Path(path)
        assert inside.stat().st_mode & 0o7777 == 0o1777
        # Others may go through it, but not list it, and the name of what is in it is random.
        assert inside.parent.stat().st_mode & 0o777 == 0o711
        assert inside.parent.name.startswith("tare-0123ab-4-")
        (inside / "data").mkdir()
    assert not [*tmp_path.iterdir()]
    with (
        pytest.raises(OSError, match="lost"),
        session_folder.on_disk(str(tmp_path), "tare-0123ab-4"),
    ):
        raise OSError("lost")
    assert not [*tmp_path.iterdir()]
    with (
        pytest.raises(PlatformError, match="cannot make a folder in"),
        session_folder.on_disk(str(tmp_path / "gone"), "tare-0123ab-4"),
    ):
        pass


def test_what_a_killed_session_left_on_a_disk_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remnants, "FOLDERS", (tmp_path,))
    left = session_folder.on_disk(str(tmp_path), "tare-0123ab-4")
    path = Path(left.__enter__())
    (path / "file").touch()
    (found,) = [one for one in remnants._files() if one.name == path.parent.name]
    found.remove()
    assert not [*tmp_path.iterdir()]


def test_memory_is_no_disk_for_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = message(
        "{folder} is on {file_system}, not on a disk of this machine",
        folder="/var/tmp",
        file_system="tmpfs",
    )
    monkeypatch.setattr(scratch_space, "_refusal", lambda folder, memory_too: refused)
    with pytest.raises(PlatformError, match=r"needs a folder on a disk.*tmpfs"):
        scratch_space.for_instances()


def test_a_container_in_a_guest_shows_the_guests_disk() -> None:
    place = Place(name="tare-0123ab-0", shared="/s", disk="/var/tmp/tare-0123ab-0-x/y")
    carried = View(agent="/a", shared="/s", root="/tare/root")
    assert "--volume=/tare/disk:/disk" in nested.options(carried, place, "none")
    here = View(agent="/a", shared="/s")
    assert "--volume=/var/tmp/tare-0123ab-0-x/y:/disk" in nested.options(here, place, "none")


def test_sandboxes_with_a_folder_on_a_disk_need_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    root = Root(path="/srv/image", digest="0" * 64, disk_parent=str(tmp_path))
    (tmp_path / "tare-0123ab").mkdir()
    place = Place(
        name="tare-0123ab-0", shared="/s", folder=str(tmp_path / "tare-0123ab"), root=root
    )
    with pytest.raises(PlatformError, match="runc with a folder on a disk needs root"):
        platforms.start("runc", place)
    assert [path.name for path in tmp_path.iterdir()] == ["tare-0123ab"]
