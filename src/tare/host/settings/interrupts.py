"""Which CPUs serve the interrupts of devices."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from dataclasses import dataclass

from tare.errors import ExperimentError, PlatformError
from tare.host.kernel_files import KernelFiles, cpu_list, cpus
from tare.host.settings.setting import Release, Saved, Setting, check_writable
from tare.registry import Description

FILES = "/proc/irq/*/smp_affinity_list"
ONLINE = "/sys/devices/system/cpu/online"
#: Would move them back; it waits meanwhile.
DAEMON = "irqbalance"
RUNNING, STOPPED = "running", "stopped"


@dataclass(frozen=True, kw_only=True)
class Interrupts(Setting):
    """Devices' interrupts on some CPUs, so that the others are left alone."""

    description: Description
    wanted: str

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the files of all interrupts that devices have."""
        return kernel.glob(FILES)

    def absent(self, kernel: KernelFiles) -> str:
        """Say why it cannot be changed here."""
        return "/proc/irq is not visible here"

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that the CPUs are there."""
        if not (names := self.names(kernel)):
            raise PlatformError(f"interrupts cannot be moved: {self.absent(kernel)}")
        online = cpus(kernel.read(ONLINE))
        if not cpus(wanted) or not set(cpus(wanted)) <= set(online):
            raise ExperimentError(
                f"interrupts go to CPUs, not to {wanted!r}", f"of {cpu_list(online)}, such as 0"
            )
        check_writable(self, kernel, names)

    def read(self, kernel: KernelFiles) -> str | None:
        """Return which CPUs may serve them; where they differ, how many of them."""
        found = Counter(kernel.read(name) for name in self.names(kernel)).most_common()
        if len(found) < 2:
            return found[0][0] if found else None
        return ", ".join(f"{where} ({count} of them)" for where, count in found)

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save where each may go, and that the daemon runs."""
        daemon = {f"/proc/{pid}": RUNNING for pid in _daemons(kernel)}
        return {**super().save(kernel, session), **daemon}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Stop the daemon and move what can be moved; some interrupts are bound to their CPU."""
        for pid in _daemons(kernel):
            self.put(kernel, f"/proc/{pid}", STOPPED)
        for name in self.names(kernel):
            with contextlib.suppress(OSError):
                kernel.write(name, cpu_list(cpus(wanted)))
        return None

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """See that no interrupt that counts goes elsewhere."""
        asked = set(cpus(wanted))
        bound = [n for n in self.names(kernel) if not set(cpus(kernel.read(n))) <= asked]
        if len(bound) == len(self.names(kernel)):
            raise PlatformError("no interrupt could be moved: all are bound to their CPUs")

    def now(self, kernel: KernelFiles, name: str) -> str | None:
        """Return the CPUs of an interrupt, or whether the daemon runs."""
        if not name.startswith("/proc/irq/"):
            fields = kernel.fields(f"{name}/status")
            if fields.get("Name") != DAEMON:
                return RUNNING  # it has ended, and another may have its number
            return STOPPED if fields.get("State", "").startswith("T") else RUNNING
        # An interrupt that went with its device needs nothing.
        return kernel.read(name)

    def put(self, kernel: KernelFiles, name: str, text: str) -> None:
        """Put back where an interrupt goes, or let the daemon go on."""
        if name.startswith("/proc/irq/"):
            if kernel.exists(name):
                kernel.write(name, text)
        elif kernel.live and kernel.fields(f"{name}/status").get("Name") == DAEMON:
            number = int(name.rpartition("/")[2])
            os.kill(number, signal.SIGCONT if text == RUNNING else signal.SIGSTOP)


def _daemons(kernel: KernelFiles) -> list[int]:
    found = []
    for name in kernel.glob("/proc/[0-9]*/comm"):
        if kernel.read(name) == DAEMON:
            found.append(int(name.split("/")[2]))
    return found


UNIT = Interrupts(
    description=Description(
        name="interrupts",
        title="the CPUs that serve the interrupts of devices, such as 0",
        question="Do the measuring CPUs work for devices as well?",
        source="Documentation/core-api/irq/irq-affinity.rst; irqbalance(1)",
    ),
    wanted="0",
)
