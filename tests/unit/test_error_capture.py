"""Standard error is read after a failure until a failure of its kind was, and never before one."""

from __future__ import annotations

import pytest

from tare.agent import record
from tare.experiment.session.error_capture import MOST, ErrorCapture
from tare.experiment.specification import Cell
from tare.workloads.specification import WorkloadSpec


def fault(
    kind: record.FaultKind = "exit", message: str = "a ended with exit code 1"
) -> record.Fault:
    return record.Fault(id=1, trial=1, kind=kind, message=message)


def cell(number: int = 0, platform: str = "bare", workers: int = 1) -> Cell:
    spec = WorkloadSpec(name="a", command=("a",))
    return Cell(cell=number, workload=spec, platform=platform, workers=workers)


def read(
    capture: ErrorCapture, ended: list[record.Fault | None], of: Cell | None = None
) -> list[bool]:
    """Which trials of a cell are read, that end as is given."""
    done, of = [], of or cell()
    for one in ended:
        done.append(capture.wants(of))
        capture.ended(of, one, good=one is None, captured=done[-1])
    return done


def test_nothing_is_read_before_the_first_failure() -> None:
    assert not any(read(ErrorCapture(), [None] * 50))


def test_what_always_fails_is_read_once() -> None:
    assert read(ErrorCapture(), [fault()] * 4) == [False, True, False, False]


def test_what_fails_now_and_then_is_read_until_it_fails_again() -> None:
    good, bad = None, fault()
    ended = [good, bad, good, good, bad, good, bad, good]
    assert read(ErrorCapture(), ended) == [False, False, True, True, True, False, False, False]


def test_each_kind_of_failure_is_read() -> None:
    other = fault("signal", "a was ended by signal 11 (SIGSEGV)")
    ended = [fault(), fault(), other, None, other, fault(), other]
    assert read(ErrorCapture(), ended) == [False, True, False, True, True, False, False]


def test_a_failure_that_does_not_return_costs_few_trials_their_devnull() -> None:
    capture = ErrorCapture()
    assert read(capture, [fault(), *[None] * 100]).count(True) == MOST
    assert read(capture, [fault(), *[None] * 100]).count(True) == MOST


def test_cells_are_apart() -> None:
    capture = ErrorCapture()
    read(capture, [fault()], cell(1))
    assert (capture.wants(cell(0)), capture.wants(cell(1))) == (False, True)


def test_a_level_that_may_be_given_up_is_read_before_any_of_its_cells_fails_twice() -> None:
    capture = ErrorCapture(["platform", "workers"])
    cells = [cell(n, platform, n + 1) for n, platform in enumerate(["isolate", "bare", "isolate"])]
    assert read(capture, [fault()], cells[0]) == [False]
    assert read(capture, [None], cells[1]) == [False], "it shares no level with what failed"
    assert read(capture, [fault()], cells[2]) == [True]
    assert read(capture, [None], cell(3, "isolate", 4)) == [False]


def test_a_level_that_had_a_good_trial_is_given_up_by_no_one() -> None:
    capture = ErrorCapture(["platform", "workers"])
    read(capture, [None], cell(0, "isolate", 1))
    read(capture, [fault()], cell(1, "isolate", 2))
    assert not capture.wants(cell(2, "isolate", 3))
    assert capture.wants(cell(3, "bare", 2)), "two workers had none"


@pytest.mark.parametrize("kind", ["launch", "job", "survived", "check"])
def test_what_no_program_said_is_not_waited_for(kind: record.FaultKind) -> None:
    assert not any(read(ErrorCapture(), [fault(kind)] * 3))
