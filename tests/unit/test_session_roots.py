"""Files that parameters of applications name: read once in a session."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tare.applications import image
from tare.experiment.file import application
from tare.experiment.session.roots import Roots


def test_each_file_is_read_once_and_its_digest_is_a_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(image, "given_digest", lambda path: read.append(path) or path.parent.name)
    wanted = application.read("wordpress")
    with ExitStack() as stack:
        roots = Roots([], tmp_path, lambda said: None, stack)
        # Two files of one name in different folders, one of them for several cells.
        for folder in "aab":
            path = tmp_path / folder / "visit.har"
            assert roots._given(wanted, {"visit": str(path)}) == {"visit": (path, folder)}
    assert read == [tmp_path / "a/visit.har", tmp_path / "b/visit.har"]
    assert [fact.value for fact in roots.facts] == ["a", "b"]
