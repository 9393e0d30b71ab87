"""Fleets whose front is killed: their hosts end, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import cli
import pytest
import test_local_fleet
from processes import children
from test_ssh_fleet import FILE, LEFT_S, Boxes, boxes, file, until  # noqa: F401

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
]


def test_whoever_kills_the_front_kills_its_local_hosts(file: Path) -> None:  # noqa: F811
    file.write_text(test_local_fleet.FILE.format(trials=200))
    words = [*cli.TARE, "experiment", "run", str(file), "--fleet", "local:2"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as front:
        journal_file = file.with_suffix("") / "hosts/host-1/journal/1.ndjson"
        while front.poll() is None and not journal_file.exists():
            time.sleep(0.1)
        started = [pid for pid, line in children(front.pid) if "fleet node" in line]
        assert len(started) >= 3
        front.kill()
    for _ in range(300):
        if not any(Path(f"/proc/{pid}").exists() for pid in started):
            break
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert cli.run("cleanup").returncode == 0


@pytest.mark.slow
def test_whoever_kills_the_front_kills_its_hosts_by_ssh(boxes: Boxes, file: Path) -> None:  # noqa: F811
    # A trial that takes longer than anybody waits for.
    file.write_text(FILE.format(trials=200).replace('"0.05"', '"100"'))
    with boxes.running("experiment", "run", file, "--fleet", "ssh:box1,box2") as front:
        until(lambda: any("sleep 100" in line for line in boxes.processes(1) + boxes.processes(2)))
        front.kill()
        for box in (0, 1, 2):
            until(lambda box=box: not boxes.processes(box), LEFT_S)  # type: ignore[misc]
    boxes.tare("cleanup")
