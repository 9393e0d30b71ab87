"""The kernel's watch over CPUs that do not answer any more."""

from __future__ import annotations

from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import FileSetting, Saved
from tare.registry import Description

FOLDER = "/proc/sys/kernel"


class Watchdog(FileSetting):
    """One switch for both, each of which has been as it was."""

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save the switch and what it switches."""
        names = [f"{FOLDER}/{n}" for n in ("watchdog", "soft_watchdog", "nmi_watchdog")]
        return {name: text for name in names if (text := kernel.value(name)) is not None}


UNIT = Watchdog(
    description=Description(
        name="watchdog",
        title="the kernel's watch over CPUs that do not answer",
        question="Does a counter of each CPU, and a timer, belong to the kernel?",
        source="Documentation/admin-guide/lockup-watchdogs.rst",
    ),
    wanted="off",
    files=(f"{FOLDER}/watchdog",),
    words={"on": "1", "off": "0"},
)
