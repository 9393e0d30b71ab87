"""A virtual machine of QEMU's with nothing in it but a kernel, the agent and what was packed."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from tare.agent.client import Channel
from tare.errors import PlatformError
from tare.host import processes
from tare.platforms import groups, quota, scope
from tare.platforms.layer import Figure, Ground, Layer, Place, Told, View
from tare.registry import Description, Parameter

#: Of a guest whose size is not given, beside what its first files take, packed and unpacked.
MEMORY_MIB = 512
MIB = 1 << 20
#: With less a kernel of today does not come up.
LEAST_BYTES = 128 * MIB


class VirtualMachine(Ground):
    """Boots a guest without a disk image; records come over a serial port of virtio's."""

    description = Description(
        name="vm",
        title="a virtual machine of QEMU's",
        question="What does a machine of one's own cost, and is it less stable than the bare one?",
        parameters=(
            Parameter(
                name="kernel",
                meaning="kernel of the guest: this machine's newest (auto), or the path of a file",
                default="auto",
            ),
            Parameter(
                name="accelerator",
                meaning="what runs instructions: the processor (kvm) or a translator (tcg), which "
                "is emulation and no measure of a machine; auto takes KVM where a guest starts",
                default="auto",
                choices=("auto", "kvm", "tcg"),
            ),
            Parameter(
                name="root",
                meaning="directory or .tar with the files that commands see; otherwise programs "
                "are packed with the libraries that they are linked with",
            ),
            Parameter(
                name="memory",
                meaning="memory of a guest whose size is not given, in MiB, beside what its first "
                "files take",
                default=MEMORY_MIB,
                minimum=128,
            ),
            Parameter(
                name="cpu", meaning="model of the processor, as QEMU knows it", default="max"
            ),
            Parameter(name="append", meaning="more words for the guest's kernel", default=""),
            Parameter(
                name="start_s",
                meaning="how long a boot may take",
                unit="s",
                default=120.0,
                minimum=1,
                maximum=600,
            ),
        ),
        source="QEMU; research of tare: virtio-serial on a socket pair, records in band",
    )

    holds = True
    own_files = True
    network_end = "tap"
    takes_root = True
    carries_root = True
    brings_files = True
    shares_memory = False

    def __init__(self) -> None:
        #: What is to be told of instances, by name.
        self._told: dict[str, tuple[Told, ...]] = {}

    def check_here(self, place: Place) -> None:
        """Find emulator, kernel and files, and see that the machine holds the size."""
        from tare.platforms.vm import accelerator, kernel, qemu

        options = self.settings(place)
        qemu.program()
        kernel.chosen(options["kernel"])
        if options["accelerator"] == "kvm" and (absent := accelerator.missing()) is not None:
            raise PlatformError(*absent)
        application = place.root is not None or place.carried is not None
        given = application or options["root"] is not None or place.files
        if place.runs_commands and not given:
            raise PlatformError(
                "vm does not know which files the commands need",
                '[platforms.vm] root = "root.tar"   (docker export CONTAINER > root.tar)',
            )
        _fits(place)

    def view(self, outer: View, place: Place) -> View:
        """Show the guest's own files; its only user is root."""
        from tare.platforms.vm import initramfs

        return View(
            agent=initramfs.AGENT,
            shared=initramfs.SHARED,
            scratch=initramfs.SCRATCH,
            root=None if place.carried is None else initramfs.CARRIED,
            users=False,
            own_machine=True,
        )

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Boot a guest whose agent runs the command."""
        from tare.platforms.vm import accelerator
        from tare.platforms.vm.boot import Boot

        boot = Boot(self.settings(place), place, inner)
        chosen = accelerator.chosen(boot.options["accelerator"], boot.attempt)
        within = self.patience_s(place) + sum(layer.patience_s(place) for layer in inner)
        try:
            channel = boot.channel(argv, chosen, within)
        finally:
            boot.close()
        self._told[place.name] = boot.told(chosen)
        if place.cpus is not None:
            try:
                channel.pin(place.cpus)
            except BaseException:
                channel.close()
                raise
        return channel

    def patience_s(self, place: Place) -> float:
        """Return how long it may take to boot."""
        return float(self.settings(place)["start_s"])

    def mend(self, said: str) -> str | None:
        """Explain what a kernel's last words mean."""
        if "Out of memory" in said or "write error" in said or "No working init" in said:
            return "[platforms.vm] memory: more, or a larger size"
        if "under KVM" in said or "kvm" in said:
            return '[platforms.vm] accelerator = "tcg"'
        return None

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell what runs the guest, which kernel, and the quota of the emulator if it has one."""
        told = self._told.get(place.name, ())
        if place.cores is None or place.cores == math.ceil(place.cores):
            return told
        found = (one.pid for one in processes.named() if one.name == place.name)
        return (*told, *(fact for pid in list(found)[:1] for fact in quota.told(pid, place)))

    def ended(self, place: Place) -> list[Figure]:
        """Remove the groups that limited it."""
        self._told.pop(place.name, None)
        if not scope.works():
            groups.release(place.name)
        return []


def _fits(place: Place) -> None:
    """Raise PlatformError where the machine cannot hold the size of an instance."""
    here = os.cpu_count() or 1
    if place.cores is not None and math.ceil(place.cores) > here:
        raise PlatformError(
            f"a virtual machine with {math.ceil(place.cores)} processors was asked, and this "
            f"machine has {here}"
        )
    if (memory := place.memory_bytes) is None:
        return
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if memory > total:
        raise PlatformError(
            f"a virtual machine with {memory // MIB} MiB was asked, and this machine has "
            f"{total // MIB} MiB"
        )
    if memory < LEAST_BYTES:
        raise PlatformError(
            f"a virtual machine needs {LEAST_BYTES // MIB} MiB for its kernel, and "
            f"{memory // MIB} MiB were asked",
            f"a size with {LEAST_BYTES // MIB} MiB or more",
        )


UNIT = VirtualMachine()
