"""What one instance is booted from: kernel, first files, disk, processors, memory."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tare.agent import client
from tare.errors import AgentError, PlatformError
from tare.host import programs
from tare.platforms import groups, scope
from tare.platforms.layer import Layer, Place, Told
from tare.platforms.root import CARRIED_DISK, DISK
from tare.platforms.vm import accelerator, initramfs, kernel, qemu, root
from tare.platforms.vm.accelerator import Accelerator

MIB = 1 << 20
#: What a kernel of today takes for itself before anything runs.
LEAST_BYTES = 64 * MIB
#: Of every guest, and of one with a disk: its driver, its file system, and room to write.
MODULES = ("virtio_console",)
NETWORK_MODULES = ("virtio_net",)
DISK_MODULES = ("virtio_blk", "ext4", "overlay")
#: A guest that panics ends; on the console is only what went wrong.
WORDS = ("quiet", "panic=-1", "reboot=t", "random.trust_cpu=on")


class Boot:
    """An instance that is to be booted, maybe more than once: to see whether KVM works.

    Parameters
    ----------
    options : dict
        Of the layer, in the experiment.
    place : Place
        What the instance is given.
    inner : sequence of Layer
        What stands inside, whose programs are packed.
    """

    def __init__(self, options: dict[str, Any], place: Place, inner: Sequence[Layer]) -> None:
        self.options = options
        self.place = place
        self.kernel = kernel.chosen(options["kernel"])
        self.board = qemu.board()
        self.disk = _disk(options["root"], place)
        #: The disk that the guest may write to; None: it has none.
        self.store = None if place.disk is None else root.written_disk(Path(place.disk))
        needs = [need for layer in inner for need in (*layer.needs, *layer.engine)]
        found: list[str] = []
        if place.root is None:
            found = [str(programs.find(need)) for need in dict.fromkeys(needs)]
            found += [file for layer in inner for file in layer.files()]
        if self.disk is None and place.user is not None:
            programs.check_readable(programs.closure(place.files), place.user)
        self.packed = [*found, *place.files] if self.disk is None else found
        self._size = 0
        self._cold = False

    def channel(self, argv: list[str], by: Accelerator, start_s: float) -> qemu.GuestChannel:
        """Start QEMU and return the stream to what the guest's agent runs."""
        names = [self.board.module, *MODULES]
        folders = [initramfs.SHARED, initramfs.SCRATCH]
        if self.place.runs_commands and self.place.root is self.place.carried is None:
            # Where commands start, unless the experiment says otherwise.
            folders.append(str(Path.cwd()))
        own: dict[str, Any] = {"argv": argv, "folders": folders}
        shown: list[Path] = []
        if (port := self.place.port) is not None:
            names += NETWORK_MODULES
            own["network"] = {"address": port.address, "prefix": port.prefix}
            shown.append(Path(port.host_file))
        if self.disk is not None:
            names += DISK_MODULES
            at = "/" if self.place.carried is None else initramfs.CARRIED
            own["disk"] = {"serial": qemu.ROOT_DISK, "type": "ext4", "at": at}
            own["binds"] = self.packed
            own["read_only"] = self.place.root is not None
        if self.store is not None:
            at = DISK if self.place.carried is None else CARRIED_DISK
            own["store"] = {"serial": qemu.WRITTEN_DISK, "type": "ext4", "at": at}
        first = initramfs.made(self.kernel.modules, names, self.packed, own, shown, self.place.user)
        self._size, self._cold = first.size_bytes, first.cold
        self._fits()
        with first.file:
            return qemu.GuestChannel(
                qemu.Guest(
                    name=self.place.name,
                    board=self.board,
                    accelerator=by.argument,
                    cpu=self.options["cpu"],
                    firmware=by.firmware,
                    processors=self.processors,
                    memory_bytes=self.memory_bytes,
                    kernel=self.kernel.path,
                    words=self.words(by),
                    initramfs=first.file,
                    disk=self.disk,
                    store=self.store,
                    interface=None if port is None else port.interface,
                    start_s=start_s,
                ),
                self._around,
            )

    def _fits(self) -> None:
        """Raise PlatformError where the first files, packed and unpacked, fill the memory."""
        least = LEAST_BYTES + 2 * self._size
        if self.place.memory_bytes is not None and self.place.memory_bytes < least:
            raise PlatformError(
                f"the programs that are packed into the virtual machine take "
                f"{self._size // MIB} MiB, twice at its boot, and its memory is to be "
                f"{self.place.memory_bytes // MIB} MiB",
                f"a size with {-(-least // MIB)} MiB or more",
            )

    def attempt(self, by: Accelerator) -> None:
        """Boot it with the agent alone, wait for the first line, and end it.

        Raises
        ------
        AgentError
            If it did not come up: why.
        """
        argv = [initramfs.AGENT, "serve", "--name", self.place.name]
        channel = self.channel(argv, by, accelerator.TRY_S)
        try:
            if channel.receive(accelerator.TRY_S) is None:
                raise AgentError(channel.last_words())
        finally:
            channel.close()

    def close(self) -> None:
        """Close the disks, which QEMU has open for itself."""
        for disk in (self.disk, self.store):
            if disk is not None:
                disk.close()

    @property
    def processors(self) -> int:
        """As many as it may use of the host's, whole."""
        if self.place.cpus is not None:
            return len(self.place.cpus)
        if self.place.cores is not None:
            return math.ceil(self.place.cores)
        return len(os.sched_getaffinity(0))

    @property
    def memory_bytes(self) -> int:
        """As its size says, kernel included; otherwise beside what its first files take."""
        if self.place.memory_bytes is not None:
            return self.place.memory_bytes
        # Packed and unpacked are there at once.
        return (int(self.options["memory"]) + 1 + 2 * self._size // MIB) * MIB

    def words(self, by: Accelerator) -> str:
        """Return the kernel's command line."""
        words = [f"console={self.board.console}", *WORDS, *by.words, self.options["append"]]
        return " ".join(filter(None, words))

    def told(self, by: Accelerator) -> tuple[Told, ...]:
        """Return what a result must say of it."""
        source = "qemu"
        told: list[Told] = [
            ("emulated", by.emulated, None, source),
            ("vm_accelerator", by.name, None, source),
            ("vm_kernel", self.kernel.version, None, str(self.kernel.path)),
            ("vm_kernel_words", self.words(by), None, source),
            ("vm_machine", self.board.machine, None, source),
            ("vm_memory_bytes", self.memory_bytes, "bytes", source),
            ("vm_image_made", self._cold, None, "cache"),
            ("qemu_version", qemu.version(), None, source),
        ]
        if by.why is not None:
            told.append(("vm_without_kvm", by.why, None, source))
        return tuple(told)

    def _around(self, argv: list[str]) -> list[str]:
        """Hold QEMU to a quota where processors alone do not: a part of one.

        A guest that hangs does not see that tare was killed; what is around QEMU does.
        """
        nest = [str(client.binary()), "nest", "--name", self.place.name, "--spec", "{}", "--"]
        argv = [*nest, *argv]
        if self.place.network is not None:
            enter = [str(client.binary()), "enter", "--network", self.place.network, "--"]
            argv = [*enter, *argv]
        cores = self.place.cores
        part = None if cores is None or cores == math.ceil(cores) else cores
        place = msgspec.structs.replace(self.place, cores=part, cpus=None, memory_bytes=None)
        if scope.works():
            return scope.wrap(argv, place)
        return groups.entering(groups.limited(place), argv)


def _disk(option: str | None, place: Place) -> BinaryIO | None:
    """Return the disk with the files that commands see; None: they are packed."""
    application = place.root or place.carried
    if application is not None:
        return root.disk_of(application)
    return None if option is None else root.disk(option)
