"""A session is killed in the middle: cleanup removes all of it, and nothing of a living one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tare import loads, platforms
from tare.agent import record
from tare.experiment import remnants
from tare.host import lease

pytestmark = [pytest.mark.system]

SESSION = """
import sys, time
from pathlib import Path
from tare import loads, platforms
from tare.experiment import remnants
name, *stacks = sys.argv[1:]
with remnants.lease(name):
    shared = Path("/dev/shm") / name
    shared.mkdir()
    shared.chmod(0o777)
    started = [
        platforms.start(
            stack,
            platforms.Place(name=f"{name}-{number}", shared=str(shared), **SIZE),
        )
        for number, stack in enumerate(stacks)
    ]
    loads.start(LOAD, {}, f"{name}-load")
    print("ready", flush=True)
    time.sleep(600)
"""


def left_of(session: str) -> list[str]:
    return [one.what for one in remnants.found() if lease.session_of(one.name) == session]


def test_a_killed_session_is_cleaned_away_and_a_living_one_is_not(tmp_path: Path) -> None:
    stacks = [s for s in ("bare", "unshare", "docker") if platforms.availability(s).works]
    load = "stress-ng" if loads.availability("stress-ng").works else "none"
    sized = {"memory_bytes": 64 << 20, "cores": 0.5}
    killed, living = lease.new_name(), lease.new_name()
    shared = Path("/dev/shm") / living
    script = SESSION.replace("SIZE", repr(sized)).replace("LOAD", repr(load))
    with remnants.lease(living):
        shared.mkdir()
        instances = [
            platforms.start(stack, platforms.Place(name=f"{living}-{n}", shared=str(shared)))
            for n, stack in enumerate(stacks)
        ]
        speaking = [instance.agent for instance in instances]
        running = loads.start(load, {"workers": 1} if load == "stress-ng" else {}, f"{living}-load")
        try:
            argv = [sys.executable, "-c", script, killed, *stacks]
            with subprocess.Popen(argv, stdout=subprocess.PIPE) as session:
                assert session.stdout is not None
                assert session.stdout.readline() == b"ready\n"
                session.kill()
            assert left_of(killed)
            before = left_of(living)
            removed = remnants.cleanup()
            assert f"directory /dev/shm/{killed}" in removed
            assert left_of(killed) == []
            assert killed not in lease.sessions()
            assert left_of(living) == before
            running.check()
            for one in speaking:
                one.ask(record.MeasureSelf(id=one.next_id()), 60)
        finally:
            running.stop()
            for instance in instances:
                instance.close()
            shared.rmdir()
    assert left_of(living) == []
