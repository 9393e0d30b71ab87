"""What an instance takes on this machine, of processes as /proc tells them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare.host import processes

NAME = "tare-0123ab-0"
#: Clock ticks since the boot at which this process was started.
NOW = 5_000


def entry(pid: int, parent: int, started: int, *argv: str, kib: int = 100) -> None:
    """Make what /proc has of a process."""
    folder = processes.PROC / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_text("".join(f"{word}\0" for word in argv))
    fields = ["S", str(parent), *["0"] * 17, str(started)]
    (folder / "stat").write_text(f"{pid} (name) {' '.join(fields)}")
    (folder / "status").write_text("Uid:\t0\t0\t0\t0\n")
    (folder / "smaps_rollup").write_text(f"Pss: {kib} kB\n")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Be a session that a script started in the same tick."""
    monkeypatch.setattr(processes, "PROC", tmp_path)
    own = os.getpid()
    entry(own, own + 1, NOW, "tare", "run")
    entry(own + 1, 1, NOW, "bash", "script", kib=900)
    entry(own + 2, own, NOW + 1, "tare-agent", "serve", "--name", NAME)
    return own


def test_who_started_the_session_is_not_around_its_agent(own: int) -> None:
    weight = processes.weight(NAME)
    assert weight is not None
    assert weight.agent is not None
    assert (weight.agent.memory_bytes, weight.around.memory_bytes) == (100 << 10, 0)


def test_what_an_engine_started_for_it_is(own: int) -> None:
    entry(2, 1, NOW - 100, "dockerd", kib=7000)
    entry(own + 3, 2, NOW + 1, "shim", kib=300)
    entry(own + 4, own + 3, NOW + 2, "tare-agent", "serve", "--name", "tare-0123ab-1")
    weight = processes.weight("tare-0123ab-1")
    assert weight is not None
    assert weight.around.memory_bytes == 300 << 10
