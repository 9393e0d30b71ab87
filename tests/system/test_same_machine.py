"""What a session finds of the machine, for real, and what is concluded when it has changed."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tare.experiment import store
from tare.experiment.findings import same_machine

pytestmark = pytest.mark.system

TARE = [sys.executable, "-c", "from tare.wiring import main; main()"]


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

    # What the load did to the second session says nothing of a slower machine: that is planted.
    first, second = (out / "journal" / f"{n}.ndjson" for n in (1, 2))
    probes = [json.loads(line) for line in first.open() if '"moment":"before"' in line]
    assert {line["record"] for line in probes} == {"take", "figure"}
    _plant(first, probes, 1.0)
    _plant(second, probes, 2.0)
    told = tare("experiment", "report", str(out), check=17)
    assert "of session 2 alone" in told.stderr
    assert "machine changed between" in (out / "report.html").read_text()
    chosen = ("experiment", "report", str(out), "--session")
    tare(*chosen, "1", "--session", "2", check=17)
    tare(*chosen, "2", "--report", str(tmp_path / "two.html"))
    page = (tmp_path / "two.html").read_text()
    assert same_machine.UNIT.description.question in page
    assert "machine changed between" not in page

    # As after a session that was killed: one moment decides nothing.
    second.write_text(
        "".join(line for line in second.open() if json.loads(line).get("moment") != "after")
    )
    tare("experiment", "report", str(out))


def _plant(journal: Path, probes: list[dict[str, Any]], factor: float) -> None:
    """Let a session's machine be as the probes show it before and after, slower, and calm."""
    calm = {"other_cpus": 0.0, "stolen_cpus": 0.0, "io_pressure": 0.0}
    planted = []
    for moment, probe in product(("before", "after"), probes):
        changed = (
            {"values": [value * factor for value in probe["values"]]}
            if probe["record"] == "figure"
            else {"activity": probe["activity"] | calm}
        )
        planted.append(json.dumps(probe | {"moment": moment} | changed) + "\n")
    *kept, closed = [line for line in journal.open() if '"moment"' not in line]
    journal.write_text("".join((*kept, *planted, closed)))
