"""What a killed ``tare fingerprint`` leaves is cleaned away."""

from __future__ import annotations

from pathlib import Path

import cli
import pytest
from test_fingerprint import at_work

pytestmark = [pytest.mark.system]


def test_what_a_killed_one_left_is_cleaned_away(tmp_path: Path) -> None:
    with at_work("clock", "--precision", "0.0001%", directory=tmp_path) as going:
        going.kill()
        going.communicate()
    (left,) = tmp_path.iterdir()
    done = cli.run("cleanup")
    assert str(left) in done.stdout.replace("\n", "")
    assert list(tmp_path.iterdir()) == []
