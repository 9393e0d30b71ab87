"""Lines around all trials that fail or are cut short: nobody takes for done what was not."""

from __future__ import annotations

import os

import pytest

from tare.errors import CutShortError, TerminatedError, TrialError
from tare.experiment.session.hooks import Hooks
from tare.experiment.specification import Cell
from tare.workloads.specification import WorkloadSpec

#: What Ctrl-C does while we wait for a line.
CTRL_C = "kill -INT $PPID; exec sleep 60"
INTERRUPTED = "cleanup was interrupted, so that what it removes may be left"


def hooks(cleanup: str) -> Hooks:
    workload = WorkloadSpec(name="w", command=("true",), cleanup=cleanup)
    return Hooks([Cell(cell=0, workload=workload)], None, dict(os.environ))


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
