"""Sessions with services that are killed, or whose services are stopped: nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cli
import pytest
from test_services import make

import tare

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network for platforms"),
]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return make(tmp_path / "pages")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_stopped_supervise_costs_a_trial_the_times_of_its_services_alone(
    pages: Path, tmp_path: Path
) -> None:
    file, out = pages / "application.toml", tmp_path / "out"
    # What is waited for is what all services may take, and 20 s.
    up = 'ready = { log = "^it is up$", within = "20 s" }'
    file.write_text(file.read_text().replace(up, f'{up}\nstop = {{ within = "1 s" }}'))
    words = ["run", "--application", str(pages), "--out", str(out), "--no-fingerprint", "-n", "1",
             "--set", "fault=stops"]  # fmt: skip
    with subprocess.Popen(
        [*cli.TARE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        while not ended(out) and running.poll() is None:
            time.sleep(0.1)
        # Another trial would be stopped as the first one.
        running.terminate()
    assert running.returncode == 143
    (trial,) = tare.open(out).trial_table.where(status="failed").records()
    assert trial["reason"] == "what starts the services did not answer within 22 s"
    assert trial["duration_ns"] < 60e9
    assert not left_behind()


def left_behind() -> list[str]:
    """Clean up, and return what was there, but for images: those stay while any session runs."""
    lines = cli.run("cleanup").stdout.splitlines()
    usual = ("Removed  image ", "Removed  nothing")
    return [line for line in lines if not line.startswith(usual)]


def ended(out: Path) -> int:
    """Count the trials that have ended."""
    texts = (path.read_text() for path in out.glob("journal/*.ndjson"))
    return sum(text.count('"record":"ended"') for text in texts)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "after_s", [1.0, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.5, 3.5))]
)
def test_a_kill_leaves_nothing_and_the_rest_is_measured_afterwards(
    pages: Path, tmp_path: Path, after_s: float
) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "tare.wiring", "run", "--application", str(pages), "-n", "2",
             "--size", "1c", "-p", "docker", "--out", str(out), "--no-fingerprint"]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        while not list((out / "journal").glob("*.ndjson")) and killed.poll() is None:
            time.sleep(0.05)
        time.sleep(after_s)
        killed.send_signal(signal.SIGKILL)
    assert cli.run("cleanup").returncode == 0
    assert not left_behind()
    done = cli.run(*words[3:], "--resume")
    assert done.returncode == 0, done.stderr
    trials = tare.open(out).trial_table
    assert (trials["status"] == "ok").sum() >= 2
