"""Exit codes for ``git bisect run``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tare.cli import bisect
from tare.cli.app import CRASH, USAGE
from tare.errors import BuildError, IncompleteError, InterruptError, TrialError


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    bisect.remember({})


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, 0),
        (1, 1),
        (2, 125),
        (TrialError.exit_code, 125),
        (IncompleteError.exit_code, 125),
        (BuildError.exit_code, 125),
        # The base does not build: no commit can be tested.
        (BuildError.base_exit_code, 149),
        (USAGE, 138),
        (CRASH, 198),
        (InterruptError.exit_code, 130),
    ],
)
def test_only_an_answer_calls_a_commit_good_or_bad(code: int, expected: int) -> None:
    assert bisect.exit_code(code) == code
    bisect.remember({"bisect": True})
    assert bisect.exit_code(code) == expected
    # The codes at which git bisect stops.
    assert expected in (0, 1, 125) or 128 <= expected <= 255
