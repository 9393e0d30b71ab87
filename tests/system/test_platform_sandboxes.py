"""Sandboxes of this machine: what each of them holds, hides and leaves behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from outputs import written

from tare import platforms
from tare.agent import client, record
from tare.errors import AgentError, PlatformError
from tare.experiment import remnants
from tare.host import lease
from tare.platforms import processes, quota

pytestmark = [pytest.mark.system, pytest.mark.machine]

SANDBOXES = (
    "cgroup", "bubblewrap", "runc", "crun", "gvisor", "nspawn", "podman", "docker", "isolate",
)  # fmt: skip
MIB = 1 << 20
#: gVisor's kernel has to fit in, too.
MEMORY = 192 * MIB
#: Nothing of what is shown may be written.
LOOK = """\
(echo >/x; echo >/usr/x; echo >{shared}/x) 2>/dev/null
for file in /x /usr/x {shared}/x /home /root/.profile; do test -e $file && echo has $file; done
echo >/tmp/x 2>/dev/null || echo has no room in /tmp
for file in /etc/shadow /etc/gshadow; do grep -q . $file 2>/dev/null && echo has $file; done
cat /proc/net/dev
"""


@dataclass
class Started:
    """An instance with its agent, and where its files are on the host."""

    name: str
    folder: Path
    instance: platforms.Instance
    speaking: client.Agent

    @property
    def pid(self) -> int:
        """A process of it that the host sees: the agent, or what the sandbox is made of."""
        if self.instance.host_pid is not None:
            return self.instance.host_pid
        nest = next(one.pid for one in processes.named() if one.name == self.name)
        return int(Path(f"/proc/{nest}/task/{nest}/children").read_text().split()[0])


@contextlib.contextmanager
def started(stack: str, **given: object) -> Iterator[Started]:
    """Start one instance; nothing of it may be left at its end."""
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        place = platforms.Place(name=f"{name}-0", shared=str(folder))
        try:
            try:
                instance = platforms.start(stack, msgspec.structs.replace(place, **given))
            except PlatformError as error:
                if error.hint is None:
                    raise
                pytest.skip(error.message)
            try:
                yield Started(place.name, folder, instance, client.Agent(instance.channel))
            finally:
                instance.close()
            assert list(folder.iterdir()) == []
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
    # What was still ending a moment ago, its groups among it, is gone with the session.
    assert left_of(name) == []


def left_of(session: str) -> list[str]:
    return [one.what for one in remnants.found() if lease.session_of(one.name) == session]


def command(speaking: client.Agent, *argv: str) -> list[record.Record]:
    return speaking.ask(
        record.Trial(
            id=speaking.next_id(),
            trial=1,
            nonce=1,
            workload=record.Command(
                argv=argv,
                environment={"PATH": "/usr/bin:/bin"},
                capture=record.Capture(limit_bytes=10_000),
            ),
            workers=(record.Worker(worker=0, cpus=None),),
            iterations=1,
            warmup=0,
            process="fresh",
            tail="stop",
            rendezvous=None,
            timeout_ns=20_000_000_000,
            linger_ns=0,
            observe=False,
            user=None,
        ),
        60,
    )


def faults(records: list[record.Record]) -> list[record.Fault]:
    return [one for one in records if isinstance(one, record.Fault)]


@pytest.mark.parametrize("stack", SANDBOXES)
def test_what_a_sandbox_holds_and_hides(stack: str) -> None:
    with started(stack, cores=0.5, memory_bytes=MEMORY, runs_commands=True) as one:
        own_kernel = not one.instance.shares_memory
        assert (one.instance.host_pid is None) is own_kernel
        assert next(quota.held(one.pid)).cores == 0.5
        if platforms.own_files(stack):
            look = LOOK.format(shared=one.instance.shared)
            seen = written(command(one.speaking, "/bin/sh", "-c", look)).splitlines()
            assert [line for line in seen if line.startswith("has")] == []
            assert [line.split(":")[0].strip() for line in seen if ":" in line] == ["lo"]
        allocate = ("/proc/self/exe", "truth", "allocate", str(2 * MEMORY // MIB))
        if own_kernel:
            # All of it ends for want of memory, and the agent with it.
            with pytest.raises(AgentError):
                command(one.speaking, *allocate)
        else:
            (fault,) = faults(command(one.speaking, *allocate))
            assert fault.kind == "out_of_memory"


def test_in_docker_no_program_of_this_machine_makes_a_user_root() -> None:
    """Its engine maps no users by itself, and what is shown has programs that belong to root."""
    with started("docker", runs_commands=True) as one:
        status = written(command(one.speaking, "/bin/cat", "/proc/self/status"))
        told = dict(line.split(":", 1) for line in status.splitlines())
        assert told["NoNewPrivs"].strip() == "1"
        assert {told[name].strip("\t0") for name in ("CapPrm", "CapEff", "CapBnd")} == {""}
        assert "0" not in told["Uid"].split() + told["Gid"].split()


@pytest.mark.parametrize("stack", ["cgroup", "runc", "gvisor"])
def test_pinned_means_the_same_number_of_cpus_everywhere(stack: str) -> None:
    cpu = max(os.sched_getaffinity(0))
    with started(stack, cpus=(cpu,)) as one:
        assert os.sched_getaffinity(one.pid) == {cpu}


def test_a_directory_is_shown_in_place_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "own").write_text("its own")
    (tmp_path / "link").symlink_to("usr")
    options = {"root": str(tmp_path), "show": "/etc/passwd"}
    for stack in ("bubblewrap", "runc"):
        with started(stack, options={stack: options}) as one:
            root = Path(f"/proc/{one.pid}/root")
            assert (root / "link" / "own").read_text() == "its own"
            assert not (root / "bin").exists()
            assert (root / "etc" / "passwd").read_text() == Path("/etc/passwd").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "usr"]


FRONT = """
import sys, time
from pathlib import Path
from tare import platforms
from tare.experiment import remnants
name, *stacks = sys.argv[1:]
with remnants.lease(name):
    shared = Path("/dev/shm") / name
    shared.mkdir()
    shared.chmod(0o777)
    for number, stack in enumerate(stacks):
        platforms.start(stack, platforms.Place(name=f"{name}-{number}", shared=str(shared)))
    print("ready", flush=True)
    time.sleep(600)
"""


def test_nothing_stays_of_a_front_that_was_killed() -> None:
    stacks = [stack for stack in SANDBOXES if platforms.availability(stack).works]
    name = lease.new_name()
    argv = [sys.executable, "-c", FRONT, name, *stacks]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as front:
        assert front.stdout is not None
        assert front.stdout.readline() == b"ready\n"
        front.kill()
    remnants.cleanup()
    assert left_of(name) == []
    mounts = Path("/proc/self/mountinfo").read_text()
    assert name not in mounts
