"""A guest with nothing in it but a Debian kernel, busybox and the agent, under plain emulation.

Emulated time is no measure of anything: what is tested here is which figures there are and
whether they agree with each other.
"""

from __future__ import annotations

import os
import platform
import selectors
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tare.agent import client
from tare.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The agent is where a container or a delegated scope would have it: in a group of its own.
INIT = r"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
mkdir -p /proc /sys /tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
echo "+cpu +memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
stty raw -echo -F /dev/ttyS1
cd /tmp
mkdir /sys/fs/cgroup/platform
echo serving
sh -c 'echo $$ > /sys/fs/cgroup/platform/cgroup.procs; exec tare-agent serve' \
    < /dev/ttyS1 > /dev/ttyS1
echo "the agent ended: $?"
poweroff -f
"""


def missing() -> str | None:
    """What is needed to boot a guest and is not here, if anything."""
    if platform.machine() != "x86_64":
        return "the guest is for x86_64"
    for program in ("qemu-system-x86_64", "busybox", "cpio", "gcc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None if kernel() else "no /boot/vmlinuz-*-cloud-amd64"


def kernel() -> Path | None:
    """The newest of Debian's kernels for virtual machines."""
    found = Path("/boot").glob("vmlinuz-*-cloud-amd64")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


class Guest:
    """A running guest; the :class:`tare.agent.client.Channel` to the agent in it.

    Parameters
    ----------
    folder : Path
        Where the image and the console's log are kept.
    programs : mapping
        More static programs, by their name in the guest's /bin.
    """

    def __init__(self, folder: Path, programs: Mapping[str, Path]) -> None:
        self.console = folder / "console.log"
        image = _image(folder, {"tare-agent": client.binary(), **programs})
        self._socket, theirs = socket.socketpair()
        self._lines = client.LineBuffer()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        with theirs:
            self._qemu = subprocess.Popen(
                [
                    *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max"),
                    *("-smp", "2", "-m", "512M", "-nodefaults", "-no-user-config"),
                    *("-display", "none", "-no-reboot"),
                    *("-kernel", str(kernel()), "-initrd", str(image)),
                    *("-append", "console=ttyS0 quiet panic=-1"),
                    *("-chardev", f"file,id=console,path={self.console}"),
                    *("-chardev", f"socket,id=agent,fd={theirs.fileno()}"),
                    *("-device", "isa-serial,chardev=console"),
                    *("-device", "isa-serial,chardev=agent"),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def send(self, line: bytes) -> None:
        self._socket.sendall(line + b"\n")

    def receive(self, timeout_s: float | None) -> bytes | None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (line := self._lines.line()) is None:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._selector.select(wait):
                raise AgentError(f"the guest said nothing; its console: {self.said()}")
            data = self._socket.recv(1 << 16)
            if not data:
                return None
            self._lines.feed(data)
        return line

    def said(self) -> str:
        """The guest's console so far."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def close(self) -> None:
        self._qemu.kill()
        self._qemu.wait()
        self._selector.close()
        self._socket.close()


def _image(folder: Path, programs: Mapping[str, Path]) -> Path:
    """The guest's root, packed as the kernel wants it."""
    root = folder / "root"
    for name in ("bin", "dev", "proc", "sys", "tmp"):
        (root / name).mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None
    for name, program in {"busybox": Path(busybox), **programs}.items():
        shutil.copy(program, root / "bin" / name)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*"))]
    image = folder / "root.cpio"
    with image.open("wb") as packed:
        subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"],
            input="\n".join([".", *names]).encode(),
            stdout=packed,
            cwd=root,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    return image
