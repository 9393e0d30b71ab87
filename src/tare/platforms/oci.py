"""Containers by an OCI runtime, without an engine: the bundle, and what the runtimes share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from tare.host import programs
from tare.platforms import callers, nest, root, users, versions
from tare.platforms.layer import Layer, Place, Told, View
from tare.workloads.application import HOST_NAME

#: What Docker leaves to a container's root user.
CAPABILITIES = tuple(
    f"CAP_{name}"
    for name in (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
NAMESPACES = ("pid", "mount", "ipc", "uts", "network")
#: Kernel's files that Docker hides or makes read-only.
MASKED = ("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/sys/firmware")
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
SAFE = ("nosuid", "noexec", "nodev")

#: Paths inside, and what is behind them.
Files = Sequence[tuple[str, str]]


class Container(Layer):
    """A container of one runtime; its control groups are the runtime's own."""

    #: The program on PATH.
    program: str
    #: What installs it.
    package: str

    own_files = True
    takes_root = True
    brings_files = True
    privileged = True

    def check_here(self, place: Place) -> None:
        """See that the runtime is on PATH."""
        programs.find(self.program, self.package)

    def view(self, outer: View, place: Place) -> View:
        """Show the container: system directories, the agent, the shared directory."""
        return root.view()

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Run a container of a bundle that is made for it, and delete what is left of it."""
        folder = nest.folder(outer, place, self.description.name)
        shown = root.shown(outer, place, self.settings(place))
        own = ((root.AGENT, outer.agent), (root.SHARED, outer.shared))
        files = [*shown.all, *own, *root.written(outer, place)]
        user = users.base(outer, place.name)
        binds: tuple[tuple[str, str], ...] = ()
        if user is not None:
            # Where the sandbox's root finds what only root can reach.
            seen = [f"{folder}/shown/{number}" for number in range(len(files))]
            binds = tuple((source, at) for (_, source), at in zip(files, seen, strict=True))
            files = [(path, at) for (path, _), at in zip(files, seen, strict=True)]
        spec = self.configured(argv, files, outer, place)
        program = callers.named(self.program, outer)
        runtime = [program, "--root", f"{folder}/state", *self.options(outer, place)]
        made = nest.Nest(
            folders=(folder, f"{folder}/root", *([f"{folder}/shown"] if binds else [])),
            owners=() if user is None else ((f"{folder}/root", user),),
            binds=binds,
            files=(
                nest.File(
                    path=f"{folder}/config.json",
                    text=msgspec.json.encode(spec).decode(),
                    mode=0o600,
                ),
            ),
            links=tuple((f"{folder}/root{path}", target) for path, target in shown.links),
            group=self.group(place),
            after=((*runtime, "delete", "--force", place.name),),
        )
        words = [*runtime, "run", "--bundle", folder, place.name]
        return nest.around(words, made, outer, place)

    def group(self, place: Place) -> nest.Group | None:
        """Return a group around the runtime, for one that makes none for its containers."""
        return None

    def options(self, outer: View, place: Place) -> list[str]:
        """Return the runtime's own options, before what it is to do."""
        return []

    def configured(
        self, argv: list[str], files: Files, outer: View, place: Place
    ) -> dict[str, Any]:
        """Return the content of ``config.json``."""
        return configuration(argv, files, outer, place)

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version, and that it filters no system calls."""
        name = self.description.name
        return (
            *versions.told(f"{name}_version", self.program),
            (f"{name}_seccomp", False, None, "config.json"),
        )

    def mend(self, said: str) -> str | None:
        """Explain what every runtime says of a bundle that does not fit."""
        name = self.description.name
        if self.program not in said:
            return None
        if "cgroup" in said and "read-only file system" in said:
            return f"docker/{name}, or vm/{name}   (where control groups can be written)"
        if '"proc"' in said and "not permitted" in said:
            return "run tare on the machine itself, or where /proc is whole (docker --privileged)"
        if "cgroup" in said and "ermission denied" in said:
            return "run it as root or under systemd, on docker, or without a quota or size"
        if "no such file or directory" in said.lower():
            return f"[platforms.{name}] root, show: name what is there"
        return None


def rootless(outer: View) -> bool:
    """Tell whether it is started by an ordinary user of this machine."""
    return outer.host_files and os.geteuid() != 0


def configuration(
    argv: list[str], files: Files, outer: View, place: Place, *, own_kernel: bool = False
) -> dict[str, Any]:
    """Return a container's configuration, as ``config.json`` has it.

    Parameters
    ----------
    argv : list of str
        What runs in it.
    files : list of tuple of str
        Files that it shows: path inside, and what is behind it.
    outer : View
        Where it stands.
    place : Place
        What it is held to.
    own_kernel : bool
        Whether users and limits are no matter of this machine's kernel.
    """
    user = rootless(outer) and not own_kernel
    linux: dict[str, Any] = {
        "namespaces": [{"type": kind} for kind in NAMESPACES if not _is_kept(kind, place)],
        "maskedPaths": MASKED,
        "readonlyPaths": READ_ONLY,
    }
    # runc passes over groups that a user cannot make only where none is named.
    if not own_kernel and (place.limited or not user):
        # Below the group of who starts it: what holds that one holds it, too.
        linux |= {"cgroupsPath": place.name, "resources": resources(place)}
    first = users.base(outer, place.name)
    if user:
        linux |= _mapped(os.geteuid(), os.getegid(), 1)
    elif first is not None:
        linux |= _mapped(first, first, users.COUNT)
    if user or first is not None:
        linux["namespaces"].append({"type": "user"})
    # Who has no rights over the control groups, or over the network, sees those of the machine.
    bound = user or (first is not None and _is_kept("network", place))
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": argv,
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), CAPABILITIES),
        },
        "root": {"path": "root", "readonly": True},
        "hostname": place.name if place.root is None else HOST_NAME,
        "mounts": [*_kernel(bound), *_memory(place), *_files(files, place)],
        "linux": linux,
    }


def _mapped(uid: int, gid: int, count: int) -> dict[str, Any]:
    """Return who root in it is outside, and others after him."""
    return {
        f"{kind}Mappings": [{"containerID": 0, "hostID": outside, "size": count}]
        for kind, outside in (("uid", uid), ("gid", gid))
    }


def _is_kept(kind: str, place: Place) -> bool:
    """Tell whether it is in the namespace of a kind that is around it."""
    return kind == "network" and place.network is not None


def resources(place: Place) -> dict[str, Any]:
    """Return what the container's control groups hold it to."""
    cpu: dict[str, Any] = {}
    if place.cores is not None:
        cpu |= {"quota": place.quota_us, "period": place.period_us}
    if place.cpus is not None:
        cpu["cpus"] = ",".join(map(str, place.cpus))
    memory = place.memory_bytes
    return {
        # None but those that every container has.
        "devices": [{"allow": False, "access": "rwm"}],
        **({"cpu": cpu} if cpu else {}),
        # Memory and swap together: none of it may be swapped.
        **({"memory": {"limit": memory, "swap": memory}} if memory is not None else {}),
    }


def _mount(path: str, kind: str, *options: str) -> dict[str, Any]:
    """Return a mount of a kernel file system, which has no source path."""
    return {"destination": path, "type": kind, "source": kind, "options": options}


def _kernel(bound: bool) -> list[dict[str, Any]]:
    """Return the mounts of what the kernel itself shows."""
    if bound:
        system = [{**_mount("/sys", "none", "rbind", "ro", *SAFE), "source": "/sys"}]
    else:
        system = [
            _mount("/sys", "sysfs", "ro", *SAFE),
            _mount("/sys/fs/cgroup", "cgroup", "ro", "relatime", *SAFE),
        ]
    return [
        _mount("/proc", "proc", *SAFE),
        _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        _mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666"),
        _mount("/dev/shm", "tmpfs", *SAFE, "mode=1777"),
        *system,
    ]


def _memory(place: Place) -> list[dict[str, Any]]:
    """Return the mounts of memory for what runs in it."""
    kept = ("nosuid", "nodev")
    run = [] if place.root is None else [_mount("/run", "tmpfs", *kept, "mode=755")]
    return [_mount("/tmp", "tmpfs", *kept, "mode=1777"), *run]


def _files(files: Files, place: Place) -> list[dict[str, Any]]:
    def bind(path: str, source: str) -> dict[str, Any]:
        writable = path == root.DISK or (path == root.SHARED and place.writable)
        access = "rw" if writable else "ro"
        options = ["rbind", access, "nosuid", "nodev"]
        return {"destination": path, "type": "bind", "source": source, "options": options}

    return [bind(path, source) for path, source in files]
