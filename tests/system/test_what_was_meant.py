"""Commands as people type them: what is measured is what they mean, and reasons are true."""

from __future__ import annotations

import json
import os
from pathlib import Path

import cli
import pytest

pytestmark = pytest.mark.system


@pytest.mark.skipif(os.geteuid() != 0, reason="a quota needs root")
def test_a_quota_throttles_a_command_and_nobody_else_is_blamed(tmp_path: Path) -> None:
    loop = "from time import process_time as used\nwhile used() < 0.05: pass"
    file = tmp_path / "run.json"
    done = cli.run(
        "run",
        "-n",
        "6",
        "--size",
        "0.1c",
        "--json",
        str(file),
        "--",
        "/usr/bin/python3",
        "-c",
        loop,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())["summary"]["disturbance"]
    assert found["what"] == "throttling"
    assert found["share"] > 0.5
