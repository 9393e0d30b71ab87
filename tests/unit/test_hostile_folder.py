"""Folders of results that somebody else has filled: nothing of this user's is read or written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import folder_report as report
import journals
import pytest
import synthetic

from tare.errors import StoreError
from tare.experiment import session, store
from tare.experiment.session import folder as execute_folder
from tare.experiment.store.export import export
from tare.render import files
from tare.wiring import SUPPLIES

SECRET = "what only its owner may read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return journals.write(
        synthetic.make(workers=(1,), trials=6), tmp_path / "out", text="[experiment]"
    )


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def test_no_link_to_another_file_is_read(folder: Path, secret: Path, tmp_path: Path) -> None:
    (folder / "experiment.toml").unlink()
    (folder / "experiment.toml").symlink_to(secret)
    export(folder, "experiment", "json", tmp_path / "experiment.json", lambda results: ())
    assert SECRET not in (tmp_path / "experiment.json").read_text()
    assert SECRET not in report.write(folder, SUPPLIES)[0].read_text()


@pytest.mark.parametrize("name", ["plan.json", "journal/1.ndjson"])
def test_pipes_and_links_are_refused_at_once(folder: Path, secret: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StoreError, match="plain file"):
        store.load(folder)
    (folder / name).unlink()
    (folder / name).symlink_to(secret)
    with pytest.raises(StoreError, match=r"links|symbolic"):
        store.load(folder)


def test_a_pipe_in_place_of_the_experiment_keeps_nobody_waiting(folder: Path) -> None:
    (folder / "experiment.toml").unlink()
    os.mkfifo(folder / "experiment.toml")
    assert report.write(folder, SUPPLIES)[0].exists()


def test_charts_replace_links(folder: Path, secret: Path) -> None:
    document = report.document(folder, SUPPLIES)
    first = files.write_charts(document, "svg", folder / "charts")[0]
    first.unlink()
    first.symlink_to(secret)
    files.write_charts(document, "svg", folder / "charts")
    assert secret.read_text() == SECRET
    assert not first.is_symlink()


def test_a_journal_is_begun_in_no_other_folder(folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (folder / "journal").rename(tmp_path / "journal")
    (folder / "journal").symlink_to(theirs)
    with pytest.raises(StoreError, match="it is a link"):
        session.recorded_session.journal_path(folder)
    assert list(theirs.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_works_in_no_folder_of_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(folder, 54321, 54321)
    with pytest.raises(StoreError, match="belongs to 54321") as told:
        store.load(folder)
    assert "54321" in (told.value.hint or "")
    with pytest.raises(StoreError, match="belongs to 54321"), execute_folder.held(folder):
        pass
    monkeypatch.setenv("SUDO_UID", "54321")
    store.load(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("experiment.stopping.quantile", 2147483648),
        ("experiment.stopping.trials", -1),
        ("experiment.stopping.precision", 0),
        ("experiment.margin", 1e308),
        ("experiment.seed", 1 << 64),
        ("cells.0.cell", 1e18),
        ("cells.0.workers", 0),
    ],
)
def test_a_plan_with_a_number_that_nobody_asked_for_is_refused(
    folder: Path, name: str, value: float
) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    *above, last = name.split(".")
    at = plan
    for key in above:
        at = at[int(key) if key.isdigit() else key]
    assert last in at
    at[last] = value
    (folder / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(StoreError, match="damaged"):
        store.load(folder)
