"""Two threads on one core."""

from __future__ import annotations

from tare.errors import PlatformError
from tare.host.check import Diagnosis, ok, unknown, warn
from tare.host.kernel_files import KernelFiles, cpus
from tare.host.settings.setting import FileSetting
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

FILE = "/sys/devices/system/cpu/smt/control"
SIBLINGS = "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"


class Threads(FileSetting):
    """What the file says where there is nothing to switch is no value of it."""

    def examine(self, view: View) -> Diagnosis:
        """Read the switch, and look which CPUs are threads of one core."""
        kernel = view.kernel
        shared, control = _shared(kernel), kernel.read(FILE)
        if control is None and not kernel.glob(SIBLINGS):
            return unknown()
        if shared:
            value = message(
                "on: {cores | join('; ')}{% if more %} …{% endif %} share a core each",
                cores=[*shared[:4]],
                more=len(shared) > 4,
            )
            return self.bad(kernel, value)
        if view.virtual():
            why = message("the hypervisor may run two virtual CPUs on one core without showing it")
            return warn(message("none shown"), "parallel", why=why)
        return ok(message("off" if control in ("off", "forceoff") else "none"))

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that there are threads to switch."""
        if kernel.value(FILE) in ("notsupported", "notimplemented", "forceoff"):
            raise PlatformError(
                f"smt cannot be changed here: the kernel says {kernel.value(FILE)}; no core shows "
                "two threads"
            )
        super().check(kernel, wanted)


def _shared(kernel: KernelFiles) -> list[str]:
    """Return the CPUs of each core that shows more than one."""
    found = {kernel.read(name) or "" for name in kernel.glob(SIBLINGS)}
    return sorted(text for text in found if len(cpus(text)) > 1)


def one_thread(kernel: KernelFiles, wanted: str) -> None:
    """See that no core has two threads any more.

    Raises
    ------
    PlatformError
        If one has.
    """
    if wanted == "off" and (shared := _shared(kernel)):
        raise PlatformError(f"smt is off, but CPUs {shared[0]} still share a core")


UNIT = Threads(
    description=Description(
        name="smt",
        title="threads of a core",
        question="May two workers share one core?",
        source="Marr et al., Hyper-Threading Technology Architecture and Microarchitecture, 2002",
    ),
    order=25,
    effect=message("both threads together do up to 1.3 of one: each is slower by a third or more"),
    why=message("two workers can share the units and caches of one core, and observe each other"),
    wanted="off",
    files=(FILE,),
    words={"on": "on", "off": "off"},
    good=("off",),
    bad_for=("parallel", "speed", "strangers"),
    effect_of=one_thread,
)
