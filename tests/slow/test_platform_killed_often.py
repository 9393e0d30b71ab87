"""Fifty sessions over all layers that work here are killed, each at a moment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import killing
import pytest

from tare import platforms

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="looks for what root's sessions leave"),
]
TRIALS = 4
#: Sessions of one experiment, each of which goes on with what the one before it has left.
KILLS = 5


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_left_and_the_resumed_experiment_holds_what_it_was_to(
    tmp_path: Path, seed: int
) -> None:
    tried = killing.Killed(tmp_path, platforms.offered(), TRIALS)
    whole = killing.Killed(tmp_path / "whole", platforms.offered(), TRIALS)
    whole.finish()
    for seconds in killing.moments(seed, KILLS, whole.seconds):
        assert tried.kill_after(seconds) == [], f"killed after {seconds:.2f} s"
    tried.finish()
    assert tried.holds() == whole.holds()
    assert tried.planned() == whole.planned()
