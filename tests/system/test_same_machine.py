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


def test_a_session_beside_a_load_is_resumed_and_a_change_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = ("run", "-n", "7", "--out", str(out))
    tare(*run, "--", "sleep", "0.01")
    found = store.load(out)
    assert set(found.figures["moment"]) == {"before", "after"}
    assert {"clock.vdso", "syscall.getpid"} <= set(found.figures["metric"])
    assert all(min(values) > 0 for values in found.figures["values"])
    rounds = found.figures.assign(n=found.figures["values"].map(len))
    assert (rounds.groupby(["moment", "metric"])["n"].max() >= 6).all()
    assert set(found.takes["moment"]) == {"before", "after"}
    assert set(found.takes["take"]) <= {1, 2, 3, 4}

    load = subprocess.Popen(["stress-ng", "--cpu", "2", "--quiet"])
    try:
        tare(*run, "--resume", "--", "sleep", "0.01")
    finally:
        load.terminate()
        load.wait()
    takes = store.load(out).takes
    beside = takes[takes["session"] == 2]
    assert (beside["other_cpus"] / beside["cpus"] > 0.1).all()
    assert set(beside["take"]) == {1, 2, 3, 4}

    first, second = (out / "journal" / f"{n}.ndjson" for n in (1, 2))
    _alter(first, 1.0)
    _alter(second, 2.0)
    told = tare("experiment", "report", str(out), check=17)
    assert "levels are those of session 2 alone" in told.stderr
    assert "The machine was not the same: sessions 1 and 2" in (out / "report.html").read_text()
    chosen = ("experiment", "report", str(out), "--session")
    tare(*chosen, "1", "--session", "2", check=17)
    tare(*chosen, "2", "--out", str(tmp_path / "two.html"))
    page = (tmp_path / "two.html").read_text()
    assert "Do the probes before and after show the same machine?" in page
    assert "not the same" not in page

    # As after a session that was killed: one moment decides nothing.
    _alter(second, 1.0, without="after")
    tare("experiment", "report", str(out))


def _alter(journal: Path, factor: float, without: str | None = None) -> None:
    """Make the machine of a session slower, and calm, in what it has written."""
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines = [line for line in lines if line.get("moment") is None or line["moment"] != without]
    for line in lines:
        if line["record"] == "figure":
            line["values"] = [value * factor for value in line["values"]]
        if line["record"] == "take":
            line["activity"] |= {"other_cpus": 0.0, "stolen_cpus": 0.0, "io_pressure": 0.0}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
