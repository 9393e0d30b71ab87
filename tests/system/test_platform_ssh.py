"""Another machine by ssh: this one, through an sshd of the test's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import sshd

from tare import platforms
from tare.agent import client, record
from tare.errors import AgentError, PlatformError
from tare.host import lease
from tare.platforms import quota

pytestmark = [pytest.mark.system]

#: How long what must happen may take on a busy machine; nothing is asserted of how long it did.
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Server]:
    with sshd.running(tmp_path_factory.mktemp("sshd")) as one:
        yield one


@pytest.fixture
def place(server: sshd.Server, tmp_path: Path) -> Iterator[platforms.Place]:
    """A place in a directory of the host's, in which nothing may be left."""
    far = tmp_path / "far"
    far.mkdir()
    options = {"ssh": {"config": server.config, "folder": str(far)}}
    name = lease.new_name()
    yield platforms.Place(
        name=f"{name}-0", shared=f"/dev/shm/{name}", folder=str(tmp_path), options=options
    )
    until_empty(far)


def folder_of(place: platforms.Place) -> Path:
    return Path(place.options["ssh"]["folder"])


def until_empty(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while left := sorted(path.name for path in folder.iterdir()):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def with_options(place: platforms.Place, **given: str) -> platforms.Place:
    options = {"ssh": {**place.options["ssh"], **given}}
    return msgspec.structs.replace(place, options=options)


def test_the_agent_is_copied_works_and_is_removed(place: platforms.Place) -> None:
    folder = folder_of(place)
    dead = folder / "tare-0123ab-7"
    dead.mkdir()
    (dead / "tare-agent").touch()
    # Another session's directory on this machine looks like it, but no agent is in it.
    (folder / "tare-0123ab-8").mkdir()
    instance = platforms.start("ssh:here", place)
    try:
        assert not dead.exists()
        (folder / "tare-0123ab-8").rmdir()
        (copied,) = folder.rglob("tare-agent")
        assert copied.read_bytes() == client.binary().read_bytes()
        assert copied.parent.stat().st_mode & 0o777 == 0o700
        assert not instance.shares_memory
        told = {name: value for name, value, *_ in instance.facts}
        assert told == {"remote_host": os.uname().nodename, "remote_kernel": os.uname().release}
        speaking = instance.agent
        facts = speaking.ask(record.MeasureSelf(id=speaking.next_id()), PATIENCE_S)
        assert any(isinstance(fact, record.Fact) for fact in facts)
    finally:
        instance.close()


def test_it_is_held_to_a_size_there(place: platforms.Place) -> None:
    given = msgspec.structs.replace(place, cores=0.5, cpus=(0,), memory_bytes=256 << 20)
    try:
        instance = platforms.start("ssh:here", given)
    except PlatformError as error:
        # Control groups that this user may not make, or not on this machine.
        pytest.skip(error.message)
    try:
        # The host is this machine, so that its agent is to be seen.
        assert instance.host_pid is not None
        assert next(quota.held(instance.host_pid)).cores == 0.5
        assert os.sched_getaffinity(instance.host_pid) == {0}
    finally:
        instance.close()


def test_a_layer_stands_on_it(place: platforms.Place) -> None:
    try:
        instance = platforms.start("ssh:root@here/unshare", place)
    except PlatformError as error:
        pytest.skip(error.message)
    try:
        assert instance.agent.hello.pid == 1
    finally:
        instance.close()


@pytest.mark.parametrize(
    ("host", "why", "hint"),
    [
        ("foreign", "foreign is s390x, and the agent", "name a host with"),
        ("unknown", "Host key verification failed", "ssh unknown true"),
        ("stranger", "Permission denied", "ssh-copy-id stranger"),
        ("nowhere.invalid", "Could not resolve hostname", "HostName"),
        ("here/isolate", "tare: there is no isolate", "install isolate on here"),
    ],
)
def test_a_host_that_does_not_serve_is_told_and_how_to_mend_it(
    place: platforms.Place, host: str, why: str, hint: str
) -> None:
    if host == "here/isolate" and shutil.which("isolate"):
        pytest.skip("isolate is on this machine, which is the host")
    with pytest.raises(PlatformError, match=why) as caught:
        platforms.start(f"ssh:{host}", place)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


def test_a_directory_that_is_not_there(place: platforms.Place) -> None:
    gone = str(folder_of(place) / "gone")
    with pytest.raises(PlatformError, match="is not to be had") as caught:
        platforms.start("ssh:here", with_options(place, folder=gone))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("[platforms.ssh] folder")


def test_a_configuration_that_is_not_there(place: platforms.Place, tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="Can't open user config") as caught:
        platforms.start("ssh:here", with_options(place, config=str(tmp_path / "gone")))
    assert caught.value.hint is not None
    assert "vagrant ssh-config" in caught.value.hint


def test_a_host_that_drops_off_in_mid_trial(place: platforms.Place, server: sshd.Server) -> None:
    quickly = "-o ServerAliveInterval=1 -o ServerAliveCountMax=1"
    instance = platforms.start("ssh:here", with_options(place, options=quickly))
    speaking = instance.agent
    server.tell(signal.SIGSTOP)
    try:
        with pytest.raises(AgentError, match=r"connection to here is lost: .*not responding"):
            speaking.ask(record.MeasureSelf(id=speaking.next_id()), PATIENCE_S)
    finally:
        server.tell(signal.SIGKILL)
        server.tell(signal.SIGCONT)
        instance.close()


def test_a_server_that_is_killed_in_mid_trial(place: platforms.Place, server: sshd.Server) -> None:
    instance = platforms.start("ssh:here", place)
    speaking = instance.agent
    threading.Timer(0.1, server.tell, [signal.SIGKILL]).start()
    with contextlib.closing(instance), pytest.raises(AgentError, match="the connection to here"):
        ask_for_ever(speaking)


def ask_for_ever(speaking: client.Agent) -> None:
    while True:
        speaking.ask(record.MeasureSelf(id=speaking.next_id()), PATIENCE_S)


FRONT = """
import sys, time
import msgspec
from tare import platforms
place = msgspec.json.decode(sys.argv[1], type=platforms.Place)
instance = platforms.start("ssh:here", place)
print("started", flush=True)
time.sleep(600)
"""


def test_nothing_is_left_of_a_front_that_was_killed(place: platforms.Place) -> None:
    command = [sys.executable, "-c", FRONT, msgspec.json.encode(place).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as front:
        assert front.stdout is not None
        assert front.stdout.readline() == b"started\n"
        assert list(folder_of(place).iterdir())
        front.kill()
