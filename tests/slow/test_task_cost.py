"""What a run of a task costs beside the program: against a loop of subprocesses, in turns.

pytest -m slow tests/slow/test_task_cost.py -s   (prints the figures; runexec, where it is there)
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

import pytest
from quiet import Quiet

from tare import platforms
from tare.features.tasks import journal, work

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.machine]

RUNS, ROUNDS = 500, 3
#: Largest cost of a run above a plain subprocess, in milliseconds, by platform.
BARS_MS = {"bare": 5.0, "isolate": 8.0}
FILE = """
[tasks]
files = "in/*"
trials = {runs}
timeout = "10 s"
[factors]
platform = ["{platform}"]
[[workload]]
name = "true"
command = ["true"]
"""


def subprocess_ms() -> float:
    """Return the milliseconds that a subprocess takes in a loop."""
    quiet = subprocess.DEVNULL
    began = time.monotonic()
    for _ in range(RUNS):
        subprocess.run(["true"], stdin=quiet, stdout=quiet, stderr=quiet, check=True)
    return (time.monotonic() - began) / RUNS * 1e3


def run_ms(file: Path, out: Path) -> float:
    """Return the milliseconds that a run of a set takes: from the second's begin to the last end.

    The first one starts the platform.
    """
    work.execute(work.prepare(file), out, Quiet())
    runs = [line for line in journal.read(out) if isinstance(line, journal.Run)]
    assert {run.result for run in runs} == {"done"}
    assert len(runs) == RUNS
    return (runs[-1].ended_ns - runs[1].began_ns) / (RUNS - 1) / 1e6


def runexec_ms() -> float | None:
    """Return the milliseconds that runexec takes without its container; None: it is not there."""
    if shutil.which("runexec") is None:
        return None
    words = ["runexec", "--no-container", "--output", "/dev/null", "true"]
    began = time.monotonic()
    for _ in range(10):
        subprocess.run(words, capture_output=True, check=True)
    return (time.monotonic() - began) / 10 * 1e3


@pytest.mark.parametrize("platform", BARS_MS)
def test_a_run_costs_little_more_than_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1").touch()
    file = tmp_path / "set.toml"
    file.write_text(FILE.format(platform=platform, runs=RUNS))
    plain, runs = [], []
    for number in range(ROUNDS):
        plain.append(subprocess_ms())
        runs.append(run_ms(file, tmp_path / f"out{number}"))
    print(f"ms per run: subprocess {plain}, {platform} {runs}, runexec {runexec_ms()}")
    assert median(runs) - median(plain) <= BARS_MS[platform]
