"""Standard error is read after a failure until a failure of its kind was, and never before one."""

from __future__ import annotations

import pytest

from tare import record
from tare.execute.error_capture import MOST, ErrorCapture


def fault(
    kind: record.FaultKind = "exit", message: str = "a ended with exit code 1"
) -> record.Fault:
    return record.Fault(id=1, trial=1, kind=kind, message=message)


def read(capture: ErrorCapture, ended: list[record.Fault | None], cell: int = 0) -> list[bool]:
    """Which trials of a cell are read, that end as is given."""
    done = []
    for one in ended:
        done.append(capture.wants(cell))
        capture.ended(cell, one, captured=done[-1])
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
    read(capture, [fault()], cell=1)
    assert (capture.wants(0), capture.wants(1)) == (False, True)


@pytest.mark.parametrize("kind", ["launch", "job", "survived", "check"])
def test_what_no_program_said_is_not_waited_for(kind: record.FaultKind) -> None:
    assert not any(read(ErrorCapture(), [fault(kind)] * 3))
