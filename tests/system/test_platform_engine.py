"""Docker's engine inside other layers, and what is said where it or a container ends early."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
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
from tare.platforms.docker import nested

pytestmark = [pytest.mark.system]

PATIENCE_S = 30.0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[platforms.Place]:
    """A place on this machine, in whose shared directory nothing may be left."""
    found = platforms.availability("docker")
    if not found.works:
        pytest.skip(f"docker: {found.why}")
    name = lease.new_name()
    shared = tmp_path / "shared"
    shared.mkdir()
    yield platforms.Place(name=f"{name}-0", shared=str(shared))
    assert list(shared.iterdir()) == []


def ask_for_ever(speaking: client.Agent) -> None:
    while True:
        speaking.ask(record.MeasureSelf(id=speaking.next_id()), PATIENCE_S)


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
    return done.stdout


def need_client() -> None:
    if shutil.which("docker") is None:
        pytest.skip("no client of docker's here")


def until_gone(name: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while docker("ps", "--all", "--quiet", "--filter", f"name={name}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("ground", ["bare", "ssh"])
def test_an_engine_inside_another_layer(
    place: platforms.Place, ground: str, tmp_path: Path
) -> None:
    need_client()
    held = msgspec.structs.replace(place, cores=0.5, cpus=(0,), memory_bytes=1 << 28)
    if ground == "bare":
        holds_what_it_is_told("bare/docker", held)
        return
    folder = tmp_path / "sshd"
    folder.mkdir()
    with sshd.running(folder) as server:
        options = {"ssh": {"config": server.config, "folder": str(tmp_path)}}
        holds_what_it_is_told("ssh:here/docker", msgspec.structs.replace(held, options=options))


def holds_what_it_is_told(stack: str, place: platforms.Place) -> None:
    instance = platforms.start(stack, place)
    try:
        assert instance.agent.hello.pid == 1
        form = "{{.CpuQuota}} {{.CpuPeriod}} {{.CpusetCpus}} {{.Memory}}"
        said = docker("inspect", "--format", form.replace("{{.", "{{.HostConfig."), place.name)
        assert said.split() == ["50000", "100000", "0", str(1 << 28)]
    finally:
        instance.close()
    until_gone(place.name)
    assert docker("images", "--quiet", f"{nested.REPOSITORY}:{place.name}") == ""


def test_an_image_that_is_not_there(place: platforms.Place) -> None:
    need_client()
    options = {"docker": {"image": "tare-test-missing:1"}}
    with pytest.raises(PlatformError, match="No such image") as caught:
        platforms.start("unshare/docker", msgspec.structs.replace(place, options=options))
    assert caught.value.hint is not None
    assert "pull it there with docker" in caught.value.hint


def test_a_container_that_is_killed_in_mid_trial(place: platforms.Place) -> None:
    need_client()
    instance = platforms.start("docker", place)
    threading.Timer(0.1, docker, ["kill", place.name]).start()
    try:
        with pytest.raises(AgentError, match="the container has ended: "):
            ask_for_ever(instance.agent)
    finally:
        instance.close()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder in which paths of sockets are no longer than the kernel allows."""
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:
        yield Path(folder)


@pytest.fixture
def engine(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """An engine of the test's own."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("only root can start an engine")
    made = [f"--data-root={short_path}/data", f"--exec-root={short_path}/exec"]
    address = f"unix://{short_path}/docker.sock"
    command = [*nested.ENGINE, *made, f"--pidfile={short_path}/pid", "--host", address]
    with (short_path / "said").open("w") as said:
        process = subprocess.Popen(command, stderr=said)
    monkeypatch.setenv("DOCKER_HOST", address)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, (short_path / "said").read_text()
            if process.poll() is not None:
                last = (short_path / "said").read_text().splitlines()[-1:]
                pytest.skip(f"a second engine does not start here: {last}")
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        # It mounts its directory, and leaves that so.
        subprocess.run(["umount", f"{short_path}/data"], capture_output=True, check=False)


def test_an_engine_that_stops_in_mid_trial(
    engine: subprocess.Popen[bytes], place: platforms.Place
) -> None:
    instance = platforms.start("docker", place)
    threading.Timer(0.1, engine.terminate).start()
    try:
        with pytest.raises(AgentError, match=r"engine stopped answering: .*docker"):
            ask_for_ever(instance.agent)
    finally:
        instance.close()
    engine.wait(timeout=PATIENCE_S)
    with pytest.raises(PlatformError, match="Docker does not run"):
        platforms.start("docker", place)
