"""Deaths of workers, of the scheduler, of links: what is lost, gone on with, and left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import cli
import processes
import pytest

from tare import open as open_results
from tare.features.fleet import folder as folders

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
]
BLOCKS, HOSTS = 10, 3
FILE = f"""
[experiment]
name = "fleet"
question = "Do hosts differ?"
trials = {BLOCKS}
fingerprint = false
[[workload]]
command = ["sleep", "0.02"]
[factors]
platform = ["bare", "unshare"]
"""
KINDS = ("worker", "scheduler", "link")


def blocks_in(mine: Path) -> int:
    return sum(
        path.read_bytes().count(b'"record":"ended"')
        for path in mine.glob("hosts/*/journal/*.ndjson")
    )


def strike(kind: str, front: int, rng: random.Random) -> None:
    """Kill the scheduler, one worker or one link, or a worker and the link of another one."""
    lines = dict(processes.children(front))
    if kind == "scheduler":
        os.kill(next(pid for pid, line in lines.items() if "fleet node scheduler" in line), 9)
        return
    workers = [pid for pid, line in lines.items() if "fleet node host-" in line]
    killed, victim = rng.sample(workers, 2)
    if "worker" in kind:
        os.kill(killed, signal.SIGKILL)
    if "link" not in kind:
        return
    enter = ["nsenter", "-t", str(victim), "-n", "ip", "-o", "link"]
    links = subprocess.run(enter, capture_output=True, text=True, check=True).stdout
    name = next(
        line.split(": ")[1].split("@")[0] for line in links.splitlines() if "LOOPBACK" not in line
    )
    subprocess.run([*enter[:4], "ip", "link", "set", name, "down"], check=True)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("worker, link", 1),
        *(pytest.param(kind, 10, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_only_blocks_in_flight_are_lost(kind: str, times: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {times}")
    for number in range(times):
        file = tmp_path / f"fleet{number}.toml"
        file.write_text(FILE)
        mine = file.with_suffix("")
        words = ["experiment", "run", str(file), "--fleet", f"local:{HOSTS}"]
        front = cli.start(*words)
        while front.poll() is None and not blocks_in(mine):
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 1))
        before = blocks_in(mine)
        strike(kind, front.pid, rng)
        _, said = front.communicate(120)
        assert front.returncode != 0, said
        assert "Traceback" not in said
        assert blocks_in(mine) >= before
        ended = {host.name: host.ended for host in folders.read(mine).hosts}
        lost = [name for name, how in ended.items() if how == "lost"]
        if kind == "scheduler":
            assert "the scheduler is gone" in said
        else:
            assert front.returncode == 18
            assert all(name in said for name in lost)
            assert len(lost) == len(kind.split(", ")), said
            assert sum(how == "finished" for how in ended.values()) == HOSTS - len(lost), said
        resumed = cli.run(*words, "--resume")
        assert resumed.returncode == 0, resumed.stderr
        if kind != "scheduler":
            resumed_states = {host.name: host.ended for host in folders.read(mine).hosts}
            assert resumed_states == {
                name: "finished" if name in lost else "complete" for name in ended
            }
        for name in (f"host-{number}" for number in range(1, HOSTS + 1)):
            results = open_results(mine / "hosts" / name)
            good = results.good.frame()
            assert good.groupby("cell").size().tolist() == [BLOCKS, BLOCKS]
            assert not good.duplicated(["session", "block", "cell"]).any()
            # What had been begun and not fetched is lost: one block of the session that died.
            assert len(results.sessions) <= 2
    # Images that other tests keep are none of this one's.
    removed = cli.run("cleanup").stdout.splitlines()
    assert not [
        line for line in removed if not line.startswith(("Removed  nothing", "Removed  image"))
    ]
