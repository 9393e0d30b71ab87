"""Podman: containers that no engine runs, held, hidden, and gone with their front."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tare import platforms
from tare.agent import client, record
from tare.errors import AgentError, PlatformError
from tare.experiment import remnants
from tare.host import lease
from tare.platforms import podman, session_folder

pytestmark = [pytest.mark.system]

PATIENCE_S = 30.0
MIB = 1 << 20


def own(place: platforms.Place, *words: str) -> str:
    """Run podman as tare does on this machine."""
    command = ["podman", *podman.way(place).general, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def place() -> Iterator[platforms.Place]:
    """A place of whose container nothing may be left."""
    found = platforms.availability("podman")
    if not found.works:
        pytest.skip(f"podman: {found.why}")
    session = lease.new_name()
    name = f"{session}-0"
    with session_folder.made(session) as shared:
        yield platforms.Place(name=name, shared=str(shared))
        deadline = time.monotonic() + PATIENCE_S
        while left := [
            own(place, "ps", "--all", "--quiet", f"--filter=name={name}"),
            *shared.parent.glob("*.layers/*"),
        ]:
            if left == [""]:
                break
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


def held(pid: int, controller: str, file: str) -> str:
    """Read what a process is held to on version 1; nothing on version 2."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return (Path("/sys/fs/cgroup") / controller / path.lstrip("/") / file).read_text()
    pytest.skip(f"no version 1 of {controller} here")


def test_it_is_held_to_its_size_and_listed(place: platforms.Place) -> None:
    given = msgspec.structs.replace(place, cores=0.5, cpus=(0,), memory_bytes=64 * MIB)
    instance = platforms.start("podman", given)
    try:
        assert instance.agent.hello.pid == 1
        (found,) = (one for one in podman.UNIT.remnants() if one.name == place.name)
        assert found.what.endswith("of podman")
        assert any(one.name == place.name for one in remnants.found())
        assert instance.host_pid is not None
        assert int(held(instance.host_pid, "memory", "memory.limit_in_bytes")) == 64 * MIB
        assert held(instance.host_pid, "cpuset", "cpuset.cpus").strip() == "0"
    finally:
        instance.close()


def test_a_container_that_is_removed_in_mid_trial(place: platforms.Place) -> None:
    instance = platforms.start("podman", place)
    (found,) = (one for one in podman.UNIT.remnants() if one.name == place.name)
    threading.Timer(0.1, found.remove).start()
    try:
        with pytest.raises(AgentError, match="exit code 137"):
            ask_for_ever(instance.agent)
    finally:
        instance.close()


def ask_for_ever(speaking: client.Agent) -> None:
    while True:
        speaking.ask(record.MeasureSelf(id=speaking.next_id()), PATIENCE_S)


def test_an_image(place: platforms.Place, tmp_path: Path) -> None:
    image = place.name
    options = {"podman": {"image": image}}
    given = msgspec.structs.replace(place, options=options)
    with pytest.raises(PlatformError, match=f"no image {image}") as caught:
        platforms.start("podman", given)
    assert caught.value.hint == f"podman pull {image}"
    archive = tmp_path / "image.tar"
    (tmp_path / "greeting").touch()
    subprocess.run(["tar", "-C", tmp_path, "-cf", archive, "greeting"], check=True)
    own(place, "import", str(archive), image)
    try:
        instance = platforms.start("podman", given)
        try:
            assert instance.host_pid is not None
            files = set(Path(f"/proc/{instance.host_pid}/root").iterdir())
            assert {"greeting", "tare"} <= {file.name for file in files}
            assert "usr" not in {file.name for file in files}
        finally:
            instance.close()
    finally:
        own(place, "rmi", "--force", image)


FRONT = """
import sys, time
import msgspec
from tare import platforms
instance = platforms.start("podman", msgspec.json.decode(sys.argv[1], type=platforms.Place))
print("started", flush=True)
time.sleep(600)
"""


def test_nothing_is_left_of_a_front_that_was_killed(place: platforms.Place) -> None:
    command = [sys.executable, "-c", FRONT, msgspec.json.encode(place).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as front:
        assert front.stdout is not None
        assert front.stdout.readline() == b"started\n"
        front.kill()
