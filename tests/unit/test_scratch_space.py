"""Folders for the files of probes: nobody else can make one of their names first."""

from __future__ import annotations

from pathlib import Path

from tare.experiment.session import scratch_space


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
