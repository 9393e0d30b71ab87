"""Two threads on one core."""

from __future__ import annotations

from tare.errors import PlatformError
from tare.host.kernel_files import KernelFiles, cpus
from tare.host.settings.setting import FileSetting
from tare.registry import Description

FILE = "/sys/devices/system/cpu/smt/control"


def absent(kernel: KernelFiles) -> str:
    """Say why it cannot be changed here."""
    return "sysfs is not visible here, or this kernel has no SMT"


class Threads(FileSetting):
    """What the file says where there is nothing to switch is no value of it."""

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that there are threads to switch."""
        if kernel.value(FILE) in ("notsupported", "notimplemented", "forceoff"):
            raise PlatformError(
                f"smt cannot be changed here: the kernel says {kernel.value(FILE)}; no core shows "
                "two threads"
            )
        super().check(kernel, wanted)


def one_thread(kernel: KernelFiles, wanted: str) -> None:
    """See that no core has two threads any more.

    Raises
    ------
    PlatformError
        If one has.
    """
    for name in kernel.glob("/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"):
        if wanted == "off" and len(cpus(kernel.read(name))) > 1:
            raise PlatformError(f"smt is off, but {name} still lists {kernel.read(name)}")


UNIT = Threads(
    description=Description(
        name="smt",
        title="two threads on one core",
        question="May two workers share the units and caches of one core?",
        source="Documentation/admin-guide/hw-vuln/l1tf.rst (SMT control)",
    ),
    wanted="off",
    files=(FILE,),
    words={"on": "on", "off": "off"},
    why_absent=absent,
    effect=one_thread,
)
