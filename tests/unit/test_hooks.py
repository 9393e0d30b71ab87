"""Lines around all trials that fail or are cut short: nobody takes for done what was not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tare.errors import CutShortError, TerminatedError, TrialError
from tare.experiment.session import hooks as hooks_module
from tare.experiment.session.hooks import Hooks
from tare.experiment.specification import Cell
from tare.workloads.specification import WorkloadSpec

#: What Ctrl-C does while we wait for a line.
CTRL_C = "kill -INT $PPID; exec sleep 60"
INTERRUPTED = "cleanup was interrupted, so that what it removes may be left"


def hooks(cleanup: str) -> Hooks:
    workload = WorkloadSpec(name="w", command=("true",), cleanup=cleanup)
    return Hooks([Cell(cell=0, workload=workload)], None, dict(os.environ))


def cell(prepare: str) -> Cell:
    return Cell(cell=0, workload=WorkloadSpec(name="w", command=("true",), prepare=prepare))


def interrupted(line: str, file: Path) -> str:
    """Have Ctrl-C come once a line has written something."""
    until = f"while ! [ -s {file} ]; do sleep 0.01; done"
    return f"(p=$PPID; {until}; kill -INT $p) & {line}"


def test_a_cleanup_that_is_interrupted_is_no_success() -> None:
    with pytest.raises(TrialError, match=INTERRUPTED), hooks(CTRL_C).around_all(1):
        pass


@pytest.mark.parametrize(
    ("cleanup", "told"), [(CTRL_C, INTERRUPTED), ("exit 3", "cleanup of w failed with exit code 3")]
)
def test_who_ends_the_trials_is_told_that_something_is_left(cleanup: str, told: str) -> None:
    with pytest.raises(CutShortError, match=told), hooks(cleanup).around_all(1):
        raise KeyboardInterrupt


@pytest.mark.parametrize("cut", [TerminatedError(), TrialError("every trial failed")])
def test_what_cut_it_short_is_told_rather_than_what_that_leads_to(cut: BaseException) -> None:
    with pytest.raises(type(cut)) as told, hooks("exit 3").around_all(1):
        raise cut
    assert told.value is cut


def test_who_ends_the_trials_with_everything_in_order_is_told_nothing() -> None:
    with pytest.raises(KeyboardInterrupt), hooks("true").around_all(1):
        raise KeyboardInterrupt


def test_a_line_that_begins_while_the_signal_comes_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **how: Any) -> None:
            super().__init__(*words, **how)
            begun.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(hooks_module.subprocess, "Popen", Popen)
    earlier = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), hooks("true").around(cell("exec sleep 1000"), 1):
        pass
    assert [one.poll() for one in begun] == [-signal.SIGKILL]
    assert signal.getsignal(signal.SIGINT) is earlier


def test_what_a_line_begins_meanwhile_is_ended_with_it(tmp_path: Path) -> None:
    """It goes on to begin others while those that it has are counted."""
    file = tmp_path / "begun"
    line = f"for i in $(seq 300); do sleep 1000 & echo $! >> {file}; done; wait"
    with pytest.raises(KeyboardInterrupt), hooks("true").around(cell(interrupted(line, file)), 1):
        pass
    pids = [int(word) for word in file.read_text().split()]
    assert pids
    left = []
    for pid in pids:
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_text()
            left += [line] if line.startswith("sleep\0001000") else []
    assert not left
