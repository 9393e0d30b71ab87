"""CPUs of one's own, without a reboot: an isolated partition of control groups, version 2."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from tare.errors import ExperimentError, PlatformError
from tare.host.check import Diagnosis, ok, unknown, warn
from tare.host.kernel_files import KernelFiles, cpu_list, cpus
from tare.host.settings.setting import Release, Saved, Setting, check_writable
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

_ISOLATION_TEXTS = {
    "hold": "sudo tare doctor --fix isolation={cpu} -- COMMAND",
    "boot": "boot with isolcpus={cpu} nohz_full={cpu} rcu_nocbs={cpu}, which isolates CPU {cpu}",
}

CPU = "/sys/devices/system/cpu"
ONLINE = f"{CPU}/online"
ISOLATED = "cpuset.cpus.isolated"
CONTROLLERS = "cgroup.subtree_control"
PARTITION = "cpuset.cpus.partition"
#: What follows the session's name in that of its group.
GROUP = "-isolated"
ABSENT = "absent"


class Isolation(Setting):
    """A group whose CPUs nobody else is scheduled on and no balancing touches."""

    description = Description(
        name="isolation",
        title="isolated CPUs",
        question="Is a CPU kept free for what is measured?",
        source="Documentation/timers/no_hz.rst; Documentation/admin-guide/cgroup-v2.rst "
        "(cpuset.cpus.partition)",
    )
    order = 41
    effect = message(
        "a tick costs 1 to 5 µs, 100 to 1,000 times a second; another task, its time slice"
    )
    wanted = "1"

    def examine(self, view: View) -> Diagnosis:
        """Read which CPUs are isolated, without a tick, and without RCU's callbacks."""
        kernel = view.kernel
        command_line = kernel.read("/proc/cmdline")
        if not kernel.exists(CPU) and command_line is None:
            return unknown()
        isolated = cpus(kernel.read(f"{CPU}/isolated"))
        if isolated:
            left = {
                "nohz_full": cpus(kernel.read(f"{CPU}/nohz_full")),
                "rcu_nocbs": re.search(r"rcu_nocbs=\S", command_line or ""),
            }
            missing = [name for name, there in left.items() if not there]
            value = message(
                "CPUs {cpus} are isolated{% if missing %}, without {missing | listing}{% endif %}",
                cpus=cpu_list(isolated),
                missing=[*missing],
            )
            return ok(value)
        change = None
        if len(online := view.online()) > 1:
            how = "hold" if self.names(kernel) else "boot"
            change = message(_ISOLATION_TEXTS[how], cpu=str(online[-1]))
        why = message(
            "the scheduler may put anything on the measuring CPU, and its timer ticks there"
        )
        return warn(message("no CPU is isolated"), "times", why=why, change=change)

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the root's list of controllers, where that of CPUs is one of version 2."""
        root = _root(kernel)
        return [] if root is None else [f"{root}/{CONTROLLERS}"]

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that some of the CPUs that are there are left for everybody else."""
        online, asked = set(cpus(kernel.read(ONLINE))), set(cpus(wanted))
        if not (names := self.names(kernel)):
            raise PlatformError(
                "no CPU can be isolated here: no control groups of version 2 have the controller "
                "cpuset (under version 1 it takes a reboot with isolcpus=)"
            )
        if not asked or not asked < online:
            raise ExperimentError(
                f"isolation takes some of the CPUs {cpu_list(tuple(online))}, not {wanted!r}",
                "isolation=1",
            )
        check_writable(self, kernel, names)

    def read(self, kernel: KernelFiles) -> str | None:
        """Return the CPUs that are isolated; kernels before 6.8 tell it only of a group."""
        if (root := _root(kernel)) is None:
            return None
        if (told := kernel.read(f"{root}/{ISOLATED}")) is not None:
            return told or "none"
        groups = kernel.glob(f"{root}/tare-*{GROUP}/cpuset.cpus")
        found = {cpu for name in groups for cpu in cpus(kernel.read(name))}
        return cpu_list(tuple(found)) or "none"

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save that the group is not there yet, and whether groups have the controller."""
        if (root := _root(kernel)) is None:
            return {}
        file = f"{root}/{CONTROLLERS}"
        return {f"{root}/{session}{GROUP}": ABSENT, file: self.now(kernel, file) or ""}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Make the group; the held command is started in it."""
        root = _root(kernel)
        group = f"{root}/{session}{GROUP}"
        kernel.write(f"{root}/{CONTROLLERS}", "+cpuset")
        kernel.path(group).mkdir()
        kernel.write(f"{group}/cpuset.cpus", cpu_list(cpus(wanted)))
        kernel.write(f"{group}/{PARTITION}", "isolated")
        # An invalid partition is no error of the write: the file says why.
        said = kernel.read(f"{group}/{PARTITION}") or "nothing"
        if said != "isolated":
            raise PlatformError(f"CPUs {wanted} cannot be isolated: the kernel says {said}")
        return None

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """See that the kernel counts them among the isolated; kernels before 6.8 do not tell."""
        root = _root(kernel)
        told = kernel.read(f"{root}/{ISOLATED}")
        if told is not None and not set(cpus(wanted)) <= set(cpus(told)):
            raise PlatformError(f"CPUs {wanted} were to be isolated, but the kernel tells {told!r}")

    def now(self, kernel: KernelFiles, name: str) -> str | None:
        """Return whether the group is there, or groups have the controller."""
        if name.endswith(CONTROLLERS):
            return "+cpuset" if "cpuset" in (kernel.read(name) or "").split() else "-cpuset"
        return "there" if kernel.exists(name) else ABSENT

    def put(self, kernel: KernelFiles, name: str, text: str) -> None:
        """Empty the group and remove it, or take the controller back."""
        if name.endswith(CONTROLLERS):
            kernel.write(name, text)
            return
        above = name.rpartition("/")[0]
        for pid in kernel.lines(f"{name}/cgroup.procs"):
            # It may have ended meanwhile.
            with contextlib.suppress(OSError):
                kernel.write(f"{above}/cgroup.procs", pid)
        kernel.path(name).rmdir()


@contextlib.contextmanager
def inside(session: str, kernel: KernelFiles | None = None) -> Iterator[None]:
    """Be in the group of a session while something is started, which then stays there.

    Does nothing where the session isolates no CPU.
    """
    there = kernel or KernelFiles()
    root = _root(there)
    group = f"{root}/{session}{GROUP}"
    if root is None or not there.exists(group):
        yield
        return
    own = next(
        (line[3:] for line in there.lines("/proc/self/cgroup") if line.startswith("0::")), "/"
    )
    there.write(f"{group}/cgroup.procs", str(os.getpid()))
    try:
        yield
    finally:
        there.write(f"{root}{own.rstrip('/')}/cgroup.procs", str(os.getpid()))


def _root(kernel: KernelFiles) -> str | None:
    for line in kernel.lines("/proc/self/mounts"):
        _, path, kind, *_ = line.split()
        controllers = (kernel.read(f"{path}/cgroup.controllers") or "").split()
        if kind == "cgroup2" and "cpuset" in controllers:
            return path
    return None


UNIT = Isolation()
