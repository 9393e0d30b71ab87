"""Trials in real platforms: workers of several instances meet, commands find their agent."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from outputs import written

from tare import platforms
from tare.agent import client as agent
from tare.agent import record
from tare.experiment import remnants
from tare.experiment.session.meeting import Meeting
from tare.host import lease, programs

pytestmark = pytest.mark.system


@pytest.fixture
def session() -> Iterator[str]:
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        yield name
        shutil.rmtree(folder)


def trial(workload: record.Kernel | record.Command, **given: object) -> record.Trial:
    bare = record.Trial(
        id=1,
        trial=1,
        nonce=1,
        workload=workload,
        workers=(record.Worker(worker=0, cpus=None),),
        iterations=2,
        warmup=0,
        process="fresh",
        tail="loaded",
        rendezvous=None,
        timeout_ns=20_000_000_000,
        linger_ns=1_000_000_000,
        observe=False,
        user=None,
    )
    return msgspec.structs.replace(bare, **given)


@pytest.mark.parametrize("stack", ["bare", "unshare", "docker", "isolate"])
def test_workers_of_two_instances_meet(session: str, stack: str) -> None:
    found = platforms.availability(stack)
    if not found.works:
        pytest.skip(f"{stack}: {found.why}")
    shared = Path("/dev/shm") / session
    workload = record.Kernel(name="null", parameters={}, repetitions=1, seed=1)
    instances = [
        platforms.start(stack, platforms.Place(name=f"{session}-{n}", shared=str(shared)))
        for n in range(2)
    ]
    try:
        speaking = [instance.agent for instance in instances]
        meeting = Meeting(shared, 2)
        parts = [
            trial(
                workload,
                id=one.next_id(),
                workers=(record.Worker(worker=number, cpus=None),),
                rendezvous=meeting.invite(instance.shared),
            )
            for number, (instance, one) in enumerate(zip(instances, speaking, strict=True))
        ]
        with meeting.held():
            for one, part in zip(speaking, parts, strict=True):
                one.submit(part)
            said = [
                list(iter(partial(agent.Answer(one, part.id).next, 60), None))
                for one, part in zip(speaking, parts, strict=True)
            ]
        # Nothing is left of where they met that anybody could open.
        assert list(shared.iterdir()) == []
        skews: list[record.Sample] = []
        for number, records in enumerate(said):
            assert [r for r in records if isinstance(r, record.Fault)] == []
            samples = [r for r in records if isinstance(r, record.Sample)]
            assert {s.worker for s in samples if s.worker is not None} == {number}
            measured = {s.iteration for s in samples if s.metric == "kernel_cpu_ns"}
            assert measured >= {0, 1}
            skews += [s for s in samples if s.metric == "start_skew_ns"]
        # Only who comes last through the barrier is sure to know it.
        assert skews
    finally:
        for instance in instances:
            instance.close()


def test_a_command_runs_in_the_image_of_the_user(session: str) -> None:
    found = platforms.availability("docker")
    if not found.works:
        pytest.skip(str(found.why))
    from tare.platforms.docker import engine
    from tare.platforms.docker import image as images

    # Not the image that tare keeps: clean-ups of other sessions may remove that.
    image = f"{session}-of-the-user:1"
    with engine.connected() as client, tempfile.TemporaryFile() as packed:
        images.pack(packed)
        packed.seek(0)
        client.api.import_image_from_data(packed, repository=f"{session}-of-the-user", tag="1")
    shared = f"/dev/shm/{session}"
    place = platforms.Place(
        name=f"{session}-0",
        shared=shared,
        runs_commands=True,
        options={"docker": {"image": image}},
    )
    instance = platforms.start("docker", place)
    try:
        one = instance.agent
        workload = record.Command(
            argv=("/tare/tare-agent", "--version"),
            environment={},
            directory=None,
            input=None,
            capture=record.Capture(limit_bytes=1000),
        )
        records = one.ask(trial(workload, id=one.next_id(), iterations=1), 60)
        assert [r for r in records if isinstance(r, record.Fault)] == []
        codes = [
            r.value for r in records if isinstance(r, record.Sample) and r.metric == "exit_code"
        ]
        assert codes[0] == 0
        assert "tare-agent" in written(records)
    finally:
        instance.close()
        with engine.connected() as client:
            client.images.remove(image)


#: Where the rights of root of the machine would show, though the process has no capabilities.
KERNEL_FILES = (
    "for file in /proc/sys/kernel/core_pattern /tare /etc; do test -w $file && echo $file; done"
)


@pytest.mark.parametrize("stack", ["docker", "docker/unshare"])
def test_root_of_a_container_is_not_root_of_the_machine(
    session: str, stack: str, tmp_path: Path
) -> None:
    found = platforms.availability(stack)
    if not found.works:
        pytest.skip(f"{stack}: {found.why}")
    image = f"{session}-of-the-user:2"
    needed = programs.closure(map(programs.find, ("sh", "unshare", "setpriv")))
    with tarfile.open(tmp_path / "image.tar", "w") as packed:
        for path in (Path("/etc"), Path("/proc"), *needed):
            packed.add(path, recursive=False)
    imported = ["docker", "import", str(tmp_path / "image.tar"), image]
    subprocess.run(imported, check=True, capture_output=True)
    place = platforms.Place(
        name=f"{session}-0",
        shared=f"/dev/shm/{session}",
        runs_commands=True,
        options={"docker": {"image": image}},
    )
    instance = platforms.start(stack, place)
    try:
        one = instance.agent
        workload = record.Command(
            argv=("/bin/sh", "-c", f"{KERNEL_FILES}; echo end"),
            environment={},
            directory=None,
            input=None,
            capture=record.Capture(limit_bytes=1000),
        )
        records = one.ask(trial(workload, id=one.next_id(), iterations=1, tail="stop"), 60)
        assert written(records) == "end\n"
    finally:
        instance.close()
        subprocess.run(["docker", "rmi", "--force", image], check=True, capture_output=True)
