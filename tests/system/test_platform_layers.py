"""Every platform that this machine has, with the real agent in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import layers
import msgspec
import pytest

from tare import platforms
from tare.agent import client, record
from tare.errors import AgentError, PlatformError
from tare.experiment import remnants
from tare.host import lease

pytestmark = pytest.mark.system

MIB = 1 << 20


@pytest.fixture
def session() -> Iterator[str]:
    """A session with its shared directory; nothing of it may be left at its end."""
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        yield name
        (folder / "seen").unlink(missing_ok=True)
        left = [one.what for one in remnants.found() if lease.session_of(one.name) == name]
        assert left == [f"directory {folder}"]
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def place(session: str, number: int = 0, **given: object) -> platforms.Place:
    bare = platforms.Place(name=f"{session}-{number}", shared=f"/dev/shm/{session}")
    return msgspec.structs.replace(bare, **given)


def need(stack: str) -> None:
    found = platforms.availability(stack)
    if not found.works:
        pytest.skip(f"{stack}: {found.why}")


def measure_self(speaking: client.Agent) -> list[record.Record]:
    return speaking.ask(record.MeasureSelf(id=speaking.next_id()), 60)


def group_file(pid: int, controller: str, v1: str, v2: str) -> str:
    """Read a file of the group that a process is in, of whichever version has the controller."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return (Path("/sys/fs/cgroup") / controller / path.lstrip("/") / v1).read_text()
        if controllers == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return (Path("/sys/fs/cgroup") / path.lstrip("/") / v2).read_text()
    pytest.fail(f"{pid} is in no group with {controller}")


@pytest.mark.parametrize("stack", platforms.offered())
def test_what_does_not_work_says_why_and_what_to_do(stack: str) -> None:
    found = platforms.availability(stack)
    assert found.name == stack
    assert found.works is (found.why is None)
    assert found.works or found.fix


#: A guest that boots, answers and ends is in `test_platform_vm.py` already.
RESIDENT = layers.each(platforms.offered(), set(platforms.offered()) - {"vm"})


@pytest.mark.parametrize("stack", RESIDENT)
def test_the_agent_is_resident_and_ends_with_its_stream(session: str, stack: str) -> None:
    need(stack)
    Path(f"/dev/shm/{session}/seen").write_text(stack)
    instance = platforms.start(stack, place(session))
    pid = instance.host_pid
    try:
        speaking = instance.agent
        for _ in range(3):
            measure_self(speaking)
        if not instance.shares_memory:
            # Another kernel: nothing of the agent is to be seen on the host.
            assert instance.host_pid is None
            return
        assert pid is not None
        assert "tare-agent" in Path(f"/proc/{pid}/cmdline").read_text()
        inside = Path(f"/proc/{pid}/root{instance.shared}/seen")
        assert inside.read_text() == stack
    finally:
        instance.close()
    assert not Path(f"/proc/{pid or -1}").exists()


@pytest.mark.parametrize("stack", ["bare", "unshare", "docker", "isolate"])
def test_instances_start_side_by_side(session: str, stack: str) -> None:
    need(stack)
    with ThreadPoolExecutor(4) as threads:
        started = list(threads.map(lambda n: platforms.start(stack, place(session, n)), range(4)))
    try:
        assert len({instance.host_pid for instance in started}) == 4
        for instance in started:
            assert instance.agent.hello.schema == record.SCHEMA
    finally:
        for instance in started:
            instance.close()


def test_unshare_gives_namespaces(session: str) -> None:
    need("unshare")
    instance = platforms.start("unshare", place(session))
    try:
        assert instance.agent.hello.pid == 1
        for kind in ("mnt", "pid", "net", "user"):
            inside = Path(f"/proc/{instance.host_pid}/ns/{kind}").readlink()
            assert inside != Path(f"/proc/self/ns/{kind}").readlink()
    finally:
        instance.close()


def test_docker_keeps_what_it_promises(session: str) -> None:
    need("docker")
    instance = platforms.start("docker", place(session))
    try:
        assert instance.agent.hello.pid == 1
        proc = Path(f"/proc/{instance.host_pid}")
        mounts = [line.split() for line in (proc / "mounts").read_text().splitlines()]
        root = next(fields for fields in mounts if fields[1] == "/")
        assert "ro" in root[3].split(",")
        interfaces = (proc / "net" / "dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
        assert "Seccomp:\t2" in (proc / "status").read_text()
        inspected = subprocess.run(
            ["docker", "inspect", "-f", "{{.HostConfig.LogConfig.Type}}", f"{session}-0"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert inspected.stdout == "none\n"
    finally:
        instance.close()


@pytest.mark.parametrize("stack", ["bare", "unshare", "docker"])
def test_a_size_is_held(session: str, stack: str) -> None:
    need(stack)
    try:
        instance = platforms.start(stack, place(session, cores=1, memory_bytes=64 * MIB))
    except PlatformError as error:
        if os.geteuid() == 0:
            raise
        pytest.skip(error.message)
    try:
        pid = instance.host_pid
        assert pid is not None
        memory = group_file(pid, "memory", "memory.limit_in_bytes", "memory.max")
        assert int(memory) == 64 * MIB
        quota = group_file(pid, "cpu", "cpu.cfs_quota_us", "cpu.max").split()[0]
        assert int(quota) == 100_000
    finally:
        instance.close()


def test_docker_gives_the_cpus_that_were_asked_for(session: str) -> None:
    need("docker")
    cpu = max(os.sched_getaffinity(0))
    instance = platforms.start("docker", place(session, cpus=(cpu,)))
    try:
        assert instance.host_pid is not None
        assert os.sched_getaffinity(instance.host_pid) == {cpu}
    finally:
        instance.close()


def test_an_image_that_is_missing_is_told(session: str) -> None:
    need("docker")
    options = {"docker": {"image": "tare-test-no-such-image:1"}}
    with pytest.raises(PlatformError, match="Docker has no image") as caught:
        platforms.start("docker", place(session, options=options))
    assert caught.value.hint == "docker pull tare-test-no-such-image:1"


def test_the_image_of_the_user_has_the_agent_in_it(session: str) -> None:
    need("docker")
    image = f"{session}-image"
    make = ["docker", "import", "-", image]
    empty = bytes(10240)  # an archive without a file
    subprocess.run(make, input=empty, capture_output=True, check=True)
    try:
        instance = platforms.start(
            "docker", place(session, runs_commands=True, options={"docker": {"image": image}})
        )
        try:
            assert instance.agent.hello.schema == record.SCHEMA
            assert "docker_image" in {name for name, *_ in instance.facts}
        finally:
            instance.close()
    finally:
        subprocess.run(["docker", "rmi", "-f", image], capture_output=True, check=True)


def test_a_killed_container_is_a_gone_agent(session: str) -> None:
    need("docker")
    instance = platforms.start("docker", place(session))
    try:
        speaking = instance.agent
        subprocess.run(["docker", "kill", f"{session}-0"], capture_output=True, check=True)
        with pytest.raises(AgentError):
            measure_self(speaking)
    finally:
        instance.close()
