"""At each of nine moments around its first trial a session is killed, and goes on with --resume."""

from __future__ import annotations

import os
from pathlib import Path

import killing
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="looks for what root's sessions leave"),
]
TRIALS = 2


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
def test_the_same_command_goes_on(tmp_path: Path, seconds: float) -> None:
    platform = "bare" if seconds in (0.3, 1.0, 2.0, 4.0, 6.0) else "unshare"
    tried = killing.Killed(tmp_path, (platform,), TRIALS, fingerprint=True)
    assert tried.kill_after(seconds) == []
    tried.finish()
    assert tried.holds() == {platform: TRIALS}
