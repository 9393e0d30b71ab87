"""A session is killed at any moment: cleanup leaves nothing, and the next one goes on with it."""

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
#: One layer of each way to start: a process, namespaces, an engine, a bundle with its group.
PLATFORMS = ("bare", "unshare", "docker", "runc")
TRIALS = 3


def test_nothing_is_left_of_a_killed_session_and_resuming_it_comes_to_the_same(
    tmp_path: Path,
) -> None:
    tried = killing.Killed(tmp_path, PLATFORMS, TRIALS)
    # Within availability, starts and trials, one after another; where the machine is faster, a
    # later one finds it finished, which is a moment, too.
    for seconds in killing.moments(seed=6, count=3, longest_s=5.0):
        assert tried.kill_after(seconds) == []
    tried.finish()
    assert set(tried.holds().values()) == {TRIALS}
    assert tuple(cell["platform"] for cell in tried.planned()) == PLATFORMS
