"""A few runs of ``make torture``: of each cheap kind, something is killed at a random moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.system,
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="looks for what root's sessions leave"),
]
#: A guest boots for longer than all others take together; `make torture` kills some.
KINDS = "front,agent,observer,container,load"
TOOL = Path(__file__).parents[2] / "tools" / "torture.py"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("seed", "count", "kinds"),
    [
        # An agent is killed in the first session, which does not probe the machine.
        ("9", "1", "front,agent"),
        pytest.param("1", "6", KINDS, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost_and_nothing_is_left(seed: str, count: str, kinds: str) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--seed", seed, "--count", count, "--kinds", kinds],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
