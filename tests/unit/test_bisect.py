"""Exit codes for ``git bisect run``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tare.cli import bisect
from tare.cli.app import CRASH, USAGE
from tare.errors import BuildError, GateError, IncompleteError, InterruptError, TrialError


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    bisect.remember({})


@pytest.mark.parametrize(
    ("code", "failure", "expected"),
    [
        (0, None, 0),
        (1, None, 1),
        (2, None, 125),
        # Every trial of the candidate failed.
        (1, GateError.__name__, 125),
        (TrialError.exit_code, TrialError.__name__, 125),
        (IncompleteError.exit_code, IncompleteError.__name__, 125),
        (BuildError.exit_code, BuildError.__name__, 125),
        # The base does not build: no commit can be tested.
        (BuildError.base_exit_code, BuildError.__name__, 149),
        (USAGE, "Usage", 138),
        (CRASH, "Fault", 198),
        (InterruptError.exit_code, InterruptError.__name__, 130),
    ],
)
def test_only_an_answer_calls_a_commit_good_or_bad(
    code: int, failure: str | None, expected: int
) -> None:
    assert bisect.exit_code(code, failure) == code
    bisect.remember({"bisect": True})
    assert bisect.exit_code(code, failure) == expected
    # The codes at which git bisect stops.
    assert expected in (0, 1, 125) or 128 <= expected <= 255
