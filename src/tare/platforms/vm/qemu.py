"""QEMU: its command line, the stream to the agent inside, its threads, its end.

The stream is a serial port of virtio's whose other end is a socket that QEMU inherits: no port of
the network, no path, no race for a name. The console goes to a file in memory that ends with both.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tare.agent.client import SocketChannel
from tare.decoding import builtins
from tare.errors import AgentError, PlatformError, Typed

#: Of the console, in an error.
TAIL_BYTES = 1500
#: How long QEMU may take for an answer about itself, or to end when it is told to.
ANSWER_S = 10.0
END_S = 5.0


class Board(NamedTuple):
    """What a guest is made of, besides its processors and memory."""

    machine: str
    #: What the names of virtio's devices end with, and the module for how they are attached.
    bus: str
    module: str
    console: str


#: Serial numbers by which the guest tells its disks apart.
ROOT_DISK, WRITTEN_DISK = "root", "written"


class Guest(NamedTuple):
    """What is to be booted."""

    name: str
    board: Board
    accelerator: str
    cpu: str
    firmware: tuple[str, ...]
    processors: int
    memory_bytes: int
    kernel: Path
    words: str
    initramfs: BinaryIO
    disk: BinaryIO | None
    #: The disk that it may write to; None: it has none.
    store: BinaryIO | None
    #: Of the network namespace in which it starts; None: it has no network.
    interface: str | None
    #: Time for its first line.
    start_s: float


@cache
def program() -> str:
    """Return the emulator of this machine's architecture.

    Raises
    ------
    PlatformError
        If it is not installed.
    """
    name = f"qemu-system-{platform.machine()}"
    if shutil.which(name) is None:
        package = {"x86_64": "x86", "aarch64": "arm"}.get(platform.machine(), "misc")
        raise PlatformError(
            f"{name} is not installed", Typed(f"sudo apt install qemu-system-{package}")
        )
    return name


@cache
def version() -> str:
    """Return QEMU's version."""
    found = re.search(r"version (\S+)", _said("--version"))
    return found.group(1) if found else "unknown"


def board() -> Board:
    """Return the board: the usual one, without what a guest needs not, as that costs time at boot.

    QEMU's leaner ``microvm`` has no clock beside the processor's own, which under translation is
    found unsteady: the guest's time then goes in steps of 4 ms, and its boot may wait for ever.
    """
    if platform.machine() == "aarch64":
        return Board("virt", "device", "virtio_mmio", "ttyAMA0")
    return Board("q35,sata=off,smbus=off,usb=off", "pci", "virtio_pci", "ttyS0")


def _said(*words: str) -> str:
    try:
        done = subprocess.run(
            [program(), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S, check=True,
            cwd="/",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise PlatformError(f"{program()} does not work: {error}") from error
    return done.stdout


def command(guest: Guest, stream: int, orders: int, console: int) -> list[str]:
    """Return QEMU's command line, with the numbers of the files that it inherits."""
    bus = guest.board.bus
    words = [
        # Two dashes as on all command lines of tare's, by which what is left is found.
        *(program(), "--name", guest.name),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", guest.board.machine, "-accel", guest.accelerator, "-cpu", guest.cpu),
        *("-smp", str(guest.processors), "-m", f"size={guest.memory_bytes}B"),
        *("-rtc", "base=utc", *guest.firmware),
        *("-kernel", str(guest.kernel), "-initrd", f"/proc/self/fd/{guest.initramfs.fileno()}"),
        *("-append", guest.words),
        *(
            "-chardev",
            f"file,id=console,path=/proc/self/fd/{console}",
            "-serial",
            "chardev:console",
        ),
        *("-chardev", f"socket,id=orders,fd={orders}", "-mon", "chardev=orders,mode=control"),
        *("-chardev", f"socket,id=stream,fd={stream}", "-device", f"virtio-serial-{bus}"),
        *("-device", "virtserialport,chardev=stream,name=tare.0"),
    ]
    if guest.interface is not None:
        options = f"ifname={guest.interface},script=no,downscript=no"
        words += ["-netdev", f"tap,id=net,{options}", "-device", f"virtio-net-{bus},netdev=net"]
    if guest.disk is not None:
        path = f"/proc/self/fd/{guest.disk.fileno()}"
        options = "if=none,id=root,format=raw,readonly=on,file.locking=off"
        device = f"virtio-blk-{bus},drive=root,serial={ROOT_DISK}"
        words += ["-drive", f"{options},file={path}", "-device", device]
    if guest.store is not None:
        # Flushes of the guest reach the disk; its other writes may stay in the host's page cache.
        options = "if=none,id=store,format=raw,cache=writeback"
        path = f"/proc/self/fd/{guest.store.fileno()}"
        device = f"virtio-blk-{bus},drive=store,serial={WRITTEN_DISK}"
        words += ["-drive", f"{options},file={path}", "-device", device]
    return words


class GuestChannel(SocketChannel):
    """The stream to the agent in a guest, which ends with it.

    Parameters
    ----------
    guest : Guest
        What to boot.
    around : callable
        Puts before QEMU's command line what holds it to limits.
    """

    around = "the guest"

    def __init__(self, guest: Guest, around: Callable[[list[str]], list[str]]) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self._guest = guest
        self._greeted = False
        self._open = True
        self._console = os.memfd_create("console", os.MFD_CLOEXEC)
        self._said = os.memfd_create("said", os.MFD_CLOEXEC)
        self._orders, monitor = socket.socketpair()
        files = [theirs.fileno(), monitor.fileno(), self._console, guest.initramfs.fileno()]
        files += [disk.fileno() for disk in (guest.disk, guest.store) if disk is not None]
        with theirs, monitor:
            argv: list[str] = []
            try:
                argv = around(command(guest, *files[:3]))
                self.process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said,
                    # It looks for its firmware in the current folder first.
                    pass_fds=files, start_new_session=True, cwd="/",
                )  # fmt: skip
            except BaseException as error:
                self._release()
                if isinstance(error, OSError) and argv:
                    raise AgentError(f"cannot start {argv[0]}: {error.strerror}") from error
                raise

    def receive(self, timeout_s: float | None) -> bytes | None:
        """Return the next line, or None at the end; the first may take as long as a boot may."""
        line = super().receive(timeout_s if self._greeted else self._guest.start_s)
        self._greeted = line is not None
        return line

    def _context(self) -> str:
        said = _tail(self._console)
        return f"the guest's console: {said}" if said else ""

    def last_words(self) -> str:
        """Return how QEMU ended, what it said, and the end of the guest's console."""
        try:
            how = f"QEMU's exit code {self.process.wait(timeout=1)}"
        except subprocess.TimeoutExpired:
            how = "QEMU goes on"
        said = _tail(self._said)
        return f"{how}{f': {said}' if said else ''}; the guest's console: {self.console()}"

    def console(self) -> str:
        """Return the end of what the guest's kernel said."""
        return _tail(self._console) or "nothing"

    def close(self) -> None:
        """End QEMU: what is in memory alone needs no shutting down."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError):
            self._orders.sendall(b'{"execute":"qmp_capabilities"}{"execute":"quit"}\n')
        self._socket.close()
        try:
            self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._release()

    def _release(self) -> None:
        self._selector.close()
        self._socket.close()
        self._orders.close()
        os.close(self._console)
        os.close(self._said)

    def pin(self, cpus: Sequence[int]) -> None:
        """Give each virtual processor a CPU of its own, and all other threads the same ones.

        Raises
        ------
        PlatformError
            If QEMU does not tell its threads, or the kernel refuses.
        """
        threads = [one["thread-id"] for one in self._ask("query-cpus-fast")]
        try:
            tasks = Path(f"/proc/{self._pid(threads)}/task")
            for task in tasks.iterdir():
                os.sched_setaffinity(int(task.name), cpus)
            for thread, cpu in zip(threads, cpus, strict=True):
                os.sched_setaffinity(thread, {cpu})
        except (OSError, LookupError, StopIteration, ValueError) as error:
            raise PlatformError(
                f"the processors of {self._guest.name} cannot be pinned to {list(cpus)}: {error}"
            ) from error

    def _pid(self, threads: list[int]) -> int:
        status = Path(f"/proc/{threads[0]}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if "Tgid:" in line)

    def _ask(self, order: str) -> list[dict[str, int]]:
        """Ask QEMU about itself: it greets, agrees, and then answers, among events."""
        self._orders.settimeout(ANSWER_S)
        try:
            with self._orders.makefile("rwb") as stream:
                for word in ("qmp_capabilities", order):
                    stream.write(json.dumps({"execute": word}).encode() + b"\n")
                    stream.flush()
                    while "return" not in (said := builtins(stream.readline())):
                        if "error" in said:
                            raise PlatformError(f"QEMU refuses {word}: {said['error']['desc']}")
                return list(said["return"])
        except (OSError, ValueError) as error:
            raise PlatformError(f"QEMU does not answer {order}: {error}") from error


def _tail(file: int) -> str:
    size = os.fstat(file).st_size
    text = os.pread(file, TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace")
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
