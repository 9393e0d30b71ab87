"""What a session finds of the machine, for real, and what is concluded when it has changed."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import cli
import pytest

from tare.experiment import store
from tare.experiment.findings import same_machine

pytestmark = pytest.mark.system


def tare(*words: str, check: int = 0) -> subprocess.CompletedProcess[str]:
    done = cli.run(*words)
    assert done.returncode == check, done.stderr
    return done


EXPERIMENT = """
[experiment]
name = "nap"
question = "?"
trials = {trials}
fingerprint = {probes}
[[workload]]
command = ["sleep", "0.01"]
"""


def written(folder: Path, trials: int, probes: str) -> str:
    file = folder / "nap.toml"
    file.write_text(EXPERIMENT.format(trials=trials, probes=probes))
    return str(file)


@pytest.mark.slow  # probes the machine twice
def test_a_machine_that_changed_between_sessions_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tare("experiment", "run", written(tmp_path, 7, "true"), "--out", str(out))
    found = store.load(out)
    assert set(found.figures["moment"]) == {"before", "after"}
    assert {"clock.vdso", "syscall.getpid"} <= set(found.figures["metric"])
    assert all(min(values) > 0 for values in found.figures["values"])
    rounds = found.figures.groups("moment", "metric")
    assert all(max(map(len, rows["values"])) >= 6 for _, rows in rounds)
    assert set(found.takes["moment"]) == {"before", "after"}
    assert set(found.takes["take"]) <= {1, 2, 3, 4}

    # A slower machine is planted, in a second session without probes of its own.
    tare("experiment", "run", written(tmp_path, 14, "false"), "--out", str(out), "--resume")
    first, second = (out / "journal" / f"{n}.ndjson" for n in (1, 2))
    probes = [json.loads(line) for line in first.open() if '"moment":"before"' in line]
    assert {line["record"] for line in probes} == {"take", "figure"}
    _plant(first, probes, 1.0)
    _plant(second, probes, 2.0)
    told = tare("experiment", "report", str(out), "--strict", check=17)
    assert "machine changed between" in tare("experiment", "report", str(out)).stdout
    assert "of session 2 alone" in told.stderr
    assert "machine changed between" in (out / "report.html").read_text()
    chosen = ("experiment", "report", str(out), "--session")
    tare(*chosen, "1", "--session", "2", "--strict", check=17)
    tare(*chosen, "2", "--report", str(tmp_path / "two.html"))
    page = (tmp_path / "two.html").read_text()
    assert same_machine.UNIT.description.question in page
    assert "machine changed between" not in page

    # As after a session that was killed: one moment decides nothing.
    second.write_text(
        "".join(line for line in second.open() if json.loads(line).get("moment") != "after")
    )
    tare("experiment", "report", str(out))


@pytest.mark.slow  # an experiment that is disturbed probes four times, before and after
def test_a_disturbed_experiment_probes_again_and_a_command_does_not(tmp_path: Path) -> None:
    alone, whole = tmp_path / "run", tmp_path / "experiment"
    load = subprocess.Popen(["stress-ng", "--cpu", "2", "--quiet"])
    try:
        tare("run", "-n", "7", "--out", str(alone), "--", "sleep", "0.01")
        tare("experiment", "run", written(tmp_path, 7, "true"), "--out", str(whole))
    finally:
        load.terminate()
        load.wait()
    for out, most in ((alone, 1), (whole, 4)):
        takes = store.load(out).takes
        assert (takes["other_cpus"] / takes["cpus"] > 0.1).all()
        assert set(takes["take"]) == set(range(1, most + 1))


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
