"""An experiment's folder: who may write to it, what is begun, and what becomes of half of it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import journals
import pytest

from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment import journal, plan, store
from tare.experiment.session import folder as folders
from tare.experiment.session.recorded_session import journal_path
from tare.experiment.specification import Cell, Experiment
from tare.workloads.specification import WorkloadSpec

KERNEL = WorkloadSpec(name="null", kernel="null")
EXPERIMENT = Experiment(name="a", question="b?", workloads=(KERNEL,), factors={})
PLAN = plan.make(EXPERIMENT, (Cell(cell=0, workload=KERNEL),))


def write(folder: Path, number: int, *lines: journal.Line) -> Path:
    path = folder / "journal" / f"{number}.ndjson"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = journal.Writer(path)
    writer.write(*lines)
    writer.sync()
    writer.close()
    return path


def trials(numbers: range, block: int) -> list[journal.Line]:
    return [
        line
        for place, number in enumerate(numbers)
        for line in (
            journals.start(number, block=block + place),
            journal.TrialEnd(trial=number, status="ok", monotonic_ns=journals.BEGIN * 2),
        )
    ]


def test_one_session_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "a/b"
    with (
        folders.held(out),
        pytest.raises(StoreError, match="another tare is measuring") as told,
        folders.held(out),
    ):
        pass
    assert "--resume" in (told.value.hint or "")
    with folders.held(out):
        pass
    assert list(out.iterdir()) == []


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    script = (
        "import os, sys, time; from pathlib import Path\n"
        "from tare.experiment.session.folder import held\n"
        "with held(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "\n"
    with pytest.raises(StoreError), folders.held(tmp_path):
        pass
    holder.kill()
    holder.communicate()
    with folders.held(tmp_path):
        pass


def test_where_folders_cannot_be_locked_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def as_nfs(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(9, "Bad file descriptor")
        flock(descriptor, operation)

    monkeypatch.setattr("tare.files.fcntl.flock", as_nfs)
    with folders.held(tmp_path), pytest.raises(StoreError), folders.held(tmp_path):
        pass
    with folders.held(tmp_path):
        folders.begin(PLAN, None, tmp_path)


@pytest.mark.parametrize("left", [(), (".plan.json.7",), (".experiment.toml.7", ".lock")])
@pytest.mark.parametrize("resume", [False, True])
def test_what_was_killed_before_it_had_a_plan_is_begun(
    tmp_path: Path, left: tuple[str, ...], resume: bool
) -> None:
    for name in left:
        (tmp_path / name).write_bytes(b"")
    folders.begin(PLAN, "text", tmp_path, resume=resume)
    assert folders.has_begun(tmp_path)
    assert (tmp_path / "experiment.toml").read_text() == "text"


def test_what_is_not_of_an_experiment_stays(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text("mine")
    with pytest.raises(StoreError, match="not empty"):
        folders.begin(PLAN, "text", tmp_path)
    assert (tmp_path / "experiment.toml").read_text() == "mine"
    folders.begin(PLAN, "text", tmp_path, resume=True)
    (tmp_path / "plan.json").unlink()
    (tmp_path / "other").mkdir()
    with pytest.raises(StoreError, match="not empty"):
        folders.begin(PLAN, "text", tmp_path, resume=True)


def test_another_experiment_is_refused(tmp_path: Path) -> None:
    folders.begin(PLAN, None, tmp_path)
    other = plan.make(
        Experiment(name="a", question="b?", workloads=(KERNEL,), factors={}, seed=2), PLAN.cells
    )
    with pytest.raises(ExperimentError, match="seed"):
        folders.go_on(other, None, tmp_path)


@pytest.mark.parametrize("first", [b"", b'{"record":"session","vers'])
def test_a_session_that_was_killed_at_its_first_line_counts_as_none(
    tmp_path: Path, first: bytes
) -> None:
    folders.begin(PLAN, None, tmp_path)
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal/1.ndjson").write_bytes(first)
    found, _, _ = folders.go_on(PLAN, None, tmp_path)
    assert (found.sessions, found.trials) == (0, 0)
    path = journal_path(tmp_path)
    assert path.name == "2.ndjson"
    write(tmp_path, 2, journals.session(2), *trials(range(1, 4), 0))
    assert list(store.load(tmp_path).trial_table["trial"]) == [1, 2, 3]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_was_removed_is_missed_at_the_next_sync(
    tmp_path: Path, replaced: bool
) -> None:
    (tmp_path / "out/journal").mkdir(parents=True)
    writer = journal.Writer(tmp_path / "out/journal/1.ndjson")
    writer.write(journals.session())
    writer.sync()
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    if replaced:
        (tmp_path / "out/journal").mkdir(parents=True)
        (tmp_path / "out/journal/1.ndjson").write_bytes(b"")
    with pytest.raises(StoreError, match="removed or replaced") as told:
        writer.sync()
    assert told.value.hint
    writer.close()


def test_a_hint_in_a_note_is_kept_as_text(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / "1.ndjson")
    writer.write(journal.Note(message="left out", detail={"fix": Typed("sudo apt install runc")}))
    writer.close()
    assert '"fix":"sudo apt install runc"' in (tmp_path / "1.ndjson").read_text()
