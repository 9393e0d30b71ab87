"""Frequencies above what all cores can hold together."""

from __future__ import annotations

from tare.host.kernel_files import KernelFiles
from tare.host.settings.frequency import absent, below_base
from tare.host.settings.setting import FileSetting, Release
from tare.registry import Description

#: Says "no", where the others say "boost".
INTEL = "/sys/devices/system/cpu/intel_pstate/no_turbo"


class Turbo(FileSetting):
    """Intel's file says the opposite of everybody else's."""

    def read(self, kernel: KernelFiles) -> str | None:
        """Return on or off."""
        return _turned(kernel, super().read(kernel))

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Write what the file that is there means by it."""
        return super().apply(kernel, _turned(kernel, wanted) or wanted, session)


def _turned(kernel: KernelFiles, word: str | None) -> str | None:
    if word is None or not kernel.exists(INTEL):
        return word
    return {"on": "off", "off": "on"}.get(word, word)


UNIT = Turbo(
    description=Description(
        name="turbo",
        title="frequencies above the base, while few cores are busy and cool",
        question="May the speed depend on how many cores are busy, and how warm they are?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst (boost)",
    ),
    wanted="off",
    files=(
        INTEL,
        "/sys/devices/system/cpu/cpufreq/boost",
        "/sys/devices/system/cpu/cpu*/cpufreq/boost",
    ),
    words={"on": "1", "off": "0"},
    why_absent=absent,
    effect=below_base,
)
