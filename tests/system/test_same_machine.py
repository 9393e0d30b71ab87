"""What a session finds of the machine, for real, and what is concluded when it has changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tare import store

pytestmark = pytest.mark.system

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def tare(*words: str, check: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*TARE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == check, done.stderr
    return done


def test_sessions_know_whether_the_machine_stayed_the_same(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = ("run", "-n", "7", "--out", str(out))
    tare(*run, "--", "sleep", "0.01")
    found = store.load(out).figures
    assert set(found["moment"]) == {"before", "after"}
    assert {"clock.vdso", "syscall.getpid"} <= set(found["metric"])
    assert all(len(values) >= 6 and min(values) > 0 for values in found["values"])

    tare(*run, "--resume", "--", "sleep", "0.01")
    _slow(out / "journal" / "2.ndjson", 2.0)
    refused = tare("experiment", "report", str(out), check=14)
    assert "not the same in sessions 1 and 2" in refused.stderr
    assert "--session 2" in refused.stderr
    tare("experiment", "report", str(out), "--session", "2", "--out", str(tmp_path / "two.html"))
    page = (tmp_path / "two.html").read_text()
    assert "Was it the same machine throughout?" in page


def _slow(journal: Path, factor: float) -> None:
    """Make the machine of a session slower, in what it has written."""
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        if line["record"] == "figure":
            line["values"] = [value * factor for value in line["values"]]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
