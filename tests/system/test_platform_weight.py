"""What an instance takes on this machine: of the agent, and of what is around it, apart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare import lease, platforms, remnants
from tare.platforms import processes

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
