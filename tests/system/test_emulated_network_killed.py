"""Nothing is left of an emulated network whose session was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import cli
import pytest
from test_emulated_network import EMULATE, NETWORKS, _left

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces with names"),
]


@pytest.mark.parametrize("agent_too", [False, True])
def test_nothing_is_left_of_a_network_whose_session_was_killed(agent_too: bool) -> None:
    session = subprocess.Popen(
        [*EMULATE, "none", "--", "sleep", "300"], stderr=subprocess.PIPE, text=True
    )
    assert session.stderr is not None
    try:
        name = _named(session)
        agents = _children(session.pid)
        assert len(agents) == 2
        session.kill()
        for pid in agents if agent_too else ():
            os.kill(pid, signal.SIGKILL)
    finally:
        session.kill()
        session.wait()
    deadline = time.monotonic() + 20
    while not agent_too and _networks(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    # An agent that lives takes its network down by itself; otherwise it is left to the cleanup.
    assert bool(_networks(name)) is agent_too
    assert cli.run("cleanup").returncode == 0
    assert not _left(name)
    assert not any(_runs(pid) for pid in agents)


def _networks(name: str) -> list[str]:
    return [path.name for path in NETWORKS.iterdir() if path.name.startswith(name)]


def _named(session: subprocess.Popen[str]) -> str:
    """Return the name of a session, once its command runs."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for pid in _children(session.pid):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "emulate" in words and len(_children(session.pid)) == 2:
                return words[words.index("--name") + 1]
        time.sleep(0.02)
    raise AssertionError("the command was never started")


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(one) for one in (task / "children").read_text().split()]
    return found


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
