"""A session is killed before its first trial: the same command with --resume goes on, whenever."""

from __future__ import annotations

import os
from pathlib import Path

import killing
import pytest

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="looks for what root's sessions leave"),
]
PLATFORMS = ("bare", "unshare")
TRIALS = 2


def test_what_was_killed_again_and_again_before_its_first_trial_goes_on(tmp_path: Path) -> None:
    tried = killing.Killed(tmp_path, PLATFORMS, TRIALS, fingerprint=True)
    # While Python starts, around the plan and the first line, while the machine is probed.
    for seconds in (0.3, 1.0, 3.0):
        assert tried.kill_after(seconds) == [], f"killed after {seconds} s"
    tried.finish()
    assert tried.holds() == dict.fromkeys(PLATFORMS, TRIALS)
