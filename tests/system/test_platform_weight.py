"""What an instance takes on this machine: of the agent, and of what is around it, apart."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare import platforms
from tare.experiment import remnants
from tare.host import lease, processes

pytestmark = pytest.mark.system


@pytest.fixture
def name() -> Iterator[str]:
    name = lease.new_name()
    shared = Path("/dev/shm") / name
    with remnants.lease(name):
        shared.mkdir()
        shared.chmod(0o777)
        yield name
        shutil.rmtree(shared)


@pytest.mark.parametrize("stack", ["bare", "unshare", "docker"])
def test_what_is_around_the_agent_is_told_apart_from_it(name: str, stack: str) -> None:
    if not (there := platforms.availability(stack)).works:
        pytest.skip(there.why or stack)
    place = platforms.Place(name=f"{name}-1", shared=f"/dev/shm/{name}")
    instance = platforms.start(stack, place)
    try:
        found = processes.weight(place.name)
        assert found is not None
        assert found.agent is not None
        assert 0 < found.agent.memory_bytes < 64 << 20
        assert (found.around.memory_bytes > 0) is (stack != "bare")
        # Another instance of the same session, whose number begins alike.
        assert processes.weight(f"{name}-10") is None
        assert processes.weight(name + "0-1") is None
    finally:
        instance.close()
    assert processes.weight(place.name) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts what belongs to others")
def test_what_others_call_by_its_name_is_not_taken_for_it(name: str) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    folder = Path("/dev/shm") / name
    # What a shell takes for its script.
    (folder / "serve").write_text("sleep 60")
    alike = subprocess.Popen(
        ["tare-agent", "serve", "--name", f"{name}-1"],
        executable="/bin/sh",
        cwd=folder,
        user=nobody,
    )
    try:
        instance = platforms.start("bare", platforms.Place(name=f"{name}-1", shared=str(folder)))
        try:
            assert instance.host_pid is not None
            weight = processes.weight(f"{name}-1")
            assert weight is not None
            assert weight.around.memory_bytes == 0
        finally:
            instance.close()
        assert alike.poll() is None
        assert processes.weight(f"{name}-1") is None
    finally:
        alike.kill()
        alike.wait()
