"""Sandboxes of this machine: what each of them holds, hides and leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from instances import command, faults, left_of, started
from outputs import written

from tare import platforms
from tare.errors import AgentError
from tare.experiment import remnants
from tare.host import lease
from tare.platforms import quota

pytestmark = [pytest.mark.system]

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
