"""What the settings of the frequency share: where there are none, and how a limit is written."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Literal

from tare.errors import ExperimentError, PlatformError
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import Release, Setting, check_writable
from tare.registry import Description
from tare.render.words import text
from tare.results.message import message

FOLDER = "/sys/devices/system/cpu/cpu*/cpufreq"
#: Files by the word for a frequency; base is what the processor holds with all cores at work.
WORDS = {"min": "cpuinfo_min_freq", "base": "base_frequency", "max": "cpuinfo_max_freq"}
_FREQUENCY = re.compile(r"(\d+(?:\.\d+)?) ?(kHz|MHz|GHz)")
_KHZ = {"kHz": 1.0, "MHz": 1e3, "GHz": 1e6}
#: A CPU's clock is not set to the last kilohertz.
TOLERANCE = 1.02
SPIN_S = 0.05


#: Why there is nothing of the frequency to be set.
Absence = Literal["setting", "hypervisor", "sysfs", "driver"]


def absence(kernel: KernelFiles) -> Absence:
    """Return why there is nothing of the frequency to be set."""
    if kernel.glob(f"{FOLDER}/scaling_governor"):
        return "setting"
    if "hypervisor" in kernel.fields("/proc/cpuinfo").get("flags", "").split():
        return "hypervisor"
    return "driver" if kernel.exists("/sys/devices/system/cpu/cpu0") else "sysfs"


def absent(kernel: KernelFiles) -> str:
    """Say why there is nothing of the frequency to be set."""
    return text(message(f"doctor.no_frequency.{absence(kernel)}"))


@dataclass(frozen=True, kw_only=True)
class Limit(Setting):
    """The lowest or the highest frequency, of all CPUs alike."""

    description: Description
    wanted: str
    file: str

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the files of all CPUs."""
        return kernel.glob(f"{FOLDER}/{self.file}")

    def absent(self, kernel: KernelFiles) -> str:
        """Say why it cannot be changed here."""
        return absent(kernel)

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that it is a frequency of these CPUs."""
        name = self.description.name
        if not (names := self.names(kernel)):
            raise PlatformError(f"{name} cannot be changed here: {absent(kernel)}")
        for file in names:
            khz = _khz(kernel, file, wanted)
            folder = file.rpartition("/")[0]
            lowest = kernel.number(f"{folder}/{WORDS['min']}") or 0
            highest = kernel.number(f"{folder}/{WORDS['max']}") or khz
            if not lowest <= khz <= highest:
                raise ExperimentError(
                    f"{name} cannot be {wanted}: the CPU goes from {lowest} to {highest} kHz"
                )
        check_writable(self, kernel, names)

    def read(self, kernel: KernelFiles) -> str | None:
        """Return it in MHz; where CPUs differ, all of theirs."""
        found = dict.fromkeys(kernel.number(name) for name in self.names(kernel))
        return " and ".join(f"{khz / 1e3:g} MHz" for khz in found if khz is not None) or None

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Write it for every CPU."""
        for name in self.names(kernel):
            kernel.write(name, str(_khz(kernel, name, wanted)))
        return None

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """Read it back: the kernel bends what the processor cannot do."""
        for name in self.names(kernel):
            now, asked = kernel.number(name), _khz(kernel, name, wanted)
            if now is None or not asked / TOLERANCE <= now <= asked * TOLERANCE:
                raise PlatformError(
                    f"{self.description.name} is {now} kHz although {asked} kHz was written"
                )


def _khz(kernel: KernelFiles, name: str, wanted: str) -> int:
    if wanted in WORDS:
        folder = name.rpartition("/")[0]
        khz = kernel.number(f"{folder}/{WORDS[wanted]}")
        if khz is None:
            raise PlatformError(f"this CPU does not tell its {wanted} frequency", "say it in MHz")
        return khz
    found = _FREQUENCY.fullmatch(wanted)
    if found is None:
        raise ExperimentError(
            f"{wanted!r} is no frequency", f"{', '.join(WORDS)}, or such as '2.4 GHz'"
        )
    return round(float(found[1]) * _KHZ[found[2]])


def below_base(kernel: KernelFiles, wanted: str) -> None:
    """Keep the CPU busy for a moment and see that turbo does not raise it above its base.

    Raises
    ------
    PlatformError
        If it does; nothing where the CPU tells neither.
    """
    folder = FOLDER.replace("*", "0")
    base = kernel.number(f"{folder}/base_frequency")
    if wanted != "off" or base is None:
        return
    until = time.monotonic() + SPIN_S
    while time.monotonic() < until:
        pass
    highest = max(
        (khz for file in kernel.glob(f"{FOLDER}/scaling_cur_freq") if (khz := kernel.number(file))),
        default=0,
    )
    if highest > base * TOLERANCE:
        raise PlatformError(
            f"turbo is written off, but a CPU runs at {highest} kHz, above its base of {base} kHz"
        )
